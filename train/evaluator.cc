#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/signals.h"

namespace tidemill::train {
namespace {

tl::unexpected<Error> NothingSupervised() {
  return Fail(ErrorCode::kInvalidArgument,
              "no token of the evaluation data is supervised (--eval-data): check the labels, and that some row has "
              "two tokens");
}

}  // namespace

Status CheckSupervised(SampleSource& source) {
  for (uint32_t record = 0; record < source.size(); ++record) {
    TM_ASSIGN_OR_RETURN(const TokenBatch batch, source.Load({&record, 1}));
    if (batch.supervised > 0) return Ok();
  }
  return NothingSupervised();
}

Result<EvalReport> EvaluateAll(Session& session, SampleSource& source, int64_t batch_size) {
  EvalReport result;
  result.sequences = static_cast<int64_t>(source.size());
  double loss_sum = 0;
  for (int64_t first = 0; first < result.sequences; first += batch_size) {
    TM_RETURN_IF_ERROR(CheckNotStopped());
    std::vector<uint32_t> records(static_cast<size_t>(std::min(batch_size, result.sequences - first)));
    std::iota(records.begin(), records.end(), static_cast<uint32_t>(first));
    TM_ASSIGN_OR_RETURN(const TokenBatch batch, source.Load(records));
    result.tokens += batch.rows();
    result.supervised_tokens += batch.supervised;
    if (batch.supervised == 0) continue;
    TM_ASSIGN_OR_RETURN(const StepOutcome outcome, session.Evaluate({&batch, 1}));
    loss_sum += outcome.loss_sum;
  }
  if (result.supervised_tokens == 0) return NothingSupervised();
  if (!std::isfinite(loss_sum)) return Fail(ErrorCode::kNotFinite, "the evaluation loss is not finite");
  result.loss = loss_sum / static_cast<double>(result.supervised_tokens);
  return result;
}

}  // namespace tidemill::train
