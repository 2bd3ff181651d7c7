// `tidemill tokenize`: lines of text to arrays of ids, and back. One line in, one line out, at once.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/json_line.h"
#include "data/json_text.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "tools/commands.h"

namespace tidemill::tools {
namespace {

constexpr FlagSpec kFlags[] = {
    {"model", FlagKind::kText, "", "folder with tokenizer.json"},
    {"jsonl", FlagKind::kBool, "false", "input lines are {\"text\": ...}, so that texts may hold line breaks"},
    {"no-special-tokens", FlagKind::kBool, "false", "without what the post-processor adds around a text"},
    {"decode", FlagKind::kBool, "false", "input lines are arrays of ids, output lines JSON strings"},
    {"skip-special-tokens", FlagKind::kBool, "false", "with --decode: leave special tokens out"},
};

class Translator {
 public:
  Translator(const data::Tokenizer& tokenizer, const Flags& flags)
      : tokenizer_(tokenizer),
        jsonl_(flags.Bool("jsonl")),
        decode_(flags.Bool("decode")),
        skip_special_(flags.Bool("skip-special-tokens")),
        options_{.add_special_tokens = !flags.Bool("no-special-tokens")} {}

  // The answer to one input line; empty for a blank line of JSON.
  Result<std::string> Translate(std::string_view line, uint64_t number) {
    const data::LinePlace place{"standard input", number};
    if (!decode_ && !jsonl_) return Ids(line, place);
    if (number == 1 && line.starts_with(data::kByteOrderMark)) line.remove_prefix(data::kByteOrderMark.size());
    if (data::IsBlankLine(line)) return std::string();
    TM_RETURN_IF_ERROR(json_.Parse(line, place));
    if (!decode_) {
      TM_ASSIGN_OR_RETURN(const std::string_view text, json_.Text("text", place));
      return Ids(text, place);
    }
    std::vector<int32_t> ids;
    TM_RETURN_IF_ERROR(json_.Integers("", place, ids));
    std::string out;
    data::AppendJsonString(out, tokenizer_.Decode(ids, skip_special_), false);
    return out;
  }

 private:
  std::string Ids(std::string_view text, const data::LinePlace& place) {
    const std::vector<int32_t> ids = tokenizer_.Encode(text, options_);
    WarnOfSecondBos(ids, place);
    std::string out = "[";
    for (const int32_t id : ids) out += (out.size() > 1 ? ", " : "") + std::to_string(id);
    return out + "]";
  }

  // The ids stay as the reference has them; `train` keeps one of the two.
  void WarnOfSecondBos(const std::vector<int32_t>& ids, const data::LinePlace& place) {
    const std::vector<int32_t>& before = tokenizer_.post_processor().before;
    if (warned_ || !options_.add_special_tokens || before.empty()) return;
    if (ids.size() <= before.size() || ids[before.size()] != before.back()) return;
    std::fprintf(stderr, "tidemill: warning: the text begins with token %d, which is added before it too (%s)\n",
                 before.back(), place.Text().c_str());
    warned_ = true;
  }

  const data::Tokenizer& tokenizer_;
  const bool jsonl_;
  const bool decode_;
  const bool skip_special_;
  const data::EncodeOptions options_;
  data::JsonLine json_;
  bool warned_ = false;
};

// getline(3)'s buffer.
struct Line {
  char* text = nullptr;
  size_t capacity_bytes = 0;
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { std::free(text); }
};

Status Run(const Flags& flags) {
  if (!flags.Has("model")) return Fail(ErrorCode::kInvalidArgument, "--model is missing (tokenize): name a folder");
  if (flags.Bool("decode") && flags.Bool("jsonl")) {
    return Fail(ErrorCode::kInvalidArgument, "--decode and --jsonl together (tokenize): give one of them");
  }
  TM_ASSIGN_OR_RETURN(const auto tokenizer, data::Tokenizer::Open(flags.Text("model") + "/tokenizer.json"));
  Translator translator(*tokenizer, flags);
  Line line;
  ssize_t bytes = 0;
  for (uint64_t number = 1; (bytes = getline(&line.text, &line.capacity_bytes, stdin)) >= 0; ++number) {
    std::string_view text(line.text, static_cast<size_t>(bytes));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    TM_ASSIGN_OR_RETURN(std::string answer, translator.Translate(text, number));
    if (answer.empty()) continue;
    answer += '\n';
    std::fwrite(answer.data(), 1, answer.size(), stdout);
    if (std::fflush(stdout) != 0) {
      return Fail(ErrorCode::kIo, "cannot write the results (standard output): check the disk or the pipe");
    }
  }
  if (std::ferror(stdin)) return Fail(ErrorCode::kIo, "cannot read the text (standard input): check the pipe");
  return Ok();
}

}  // namespace

const Command kTokenize{"tokenize",
                        "--model DIR [flags]",
                        "Lines of text to arrays of token ids, and back.",
                        [] { return std::span<const FlagSpec>(kFlags); },
                        0,
                        Run};

}  // namespace tidemill::tools
