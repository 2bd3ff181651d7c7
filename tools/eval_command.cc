// `tidemill eval`: what a model's loss on data is.
#include <cmath>
#include <cstdio>

#include "tools/commands.h"
#include "train/jobs.h"
#include "train/metrics.h"

namespace tidemill::tools {
namespace {

Status Run(const Flags& flags) {
  TM_ASSIGN_OR_RETURN(const train::EvalOptions options, train::ParseEvalOptions(flags));
  TM_ASSIGN_OR_RETURN(const train::EvalReport report, train::Evaluate(options));
  const std::string loss = train::JsonNumber(report.loss), perplexity = train::JsonNumber(std::exp(report.loss));
  const char* format = options.json ? "{\"loss\":%s,\"perplexity\":%s,\"sequences\":%lld,\"tokens\":%lld,"
                                      "\"supervised_tokens\":%lld}\n"
                                    : "loss %s\nperplexity %s\nsequences %lld\ntokens %lld\nsupervised tokens %lld\n";
  std::printf(format, loss.c_str(), perplexity.c_str(), static_cast<long long>(report.sequences),
              static_cast<long long>(report.tokens), static_cast<long long>(report.supervised_tokens));
  return Ok();
}

}  // namespace

const Command kEval{"eval",
                    "--model DIR --eval-data FILE [flags]",
                    "Loss, perplexity and token counts of a model on data.",
                    [] { return train::RunFlags(train::RunKind::kEval); },
                    0,
                    Run,
                    train::RunFlagAliases};

}  // namespace tidemill::tools
