// One line of a JSON lines file: parsed, checked, and read by key.
//
// What a line may hold, and what becomes of it:
//   raw bytes that are not UTF-8, lone \uD83D   U+FFFD each, as in all text (data/utf8.h)
//   a key that is asked for and is there twice  an error: two readers would take different ones
//   control characters inside a string          an error (JSON wants them escaped); an escaped NUL is fine
//   white space around, a carriage return       ignored; other keys are ignored too
//
//   Ownership  copies the line; holds its memory between lines.
//   Threads    one thread at a time.
//   Errors     kInvalidArgument, with file and line: "... (corpus.jsonl:12): ...".
//   Limits     a line up to 4 GiB; nesting up to 1024; takes about 12 times the line's bytes at worst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill::data {

// Where a line came from, turned into text only for a message. Lines count from 1.
struct LinePlace {
  std::string_view file;
  uint64_t line;

  std::string Text() const { return std::string(file) + ":" + std::to_string(line); }
};

tl::unexpected<Error> BadLine(const std::string& what, const LinePlace& place, const std::string& advice);

class JsonLine {
 public:
  JsonLine();
  ~JsonLine();
  JsonLine(JsonLine&&) noexcept;
  JsonLine& operator=(JsonLine&&) noexcept;

  // Parses a line, without its line feed. Whatever Parse() returned before is gone.
  Status Parse(std::string_view line, const LinePlace& place);

  // The parsed line is an object with this key, whatever its value.
  bool Has(std::string_view key) const;
  std::vector<std::string> Keys() const;

  // The string at `key`; valid until the next Parse(). `place` is for the message.
  Result<std::string_view> Text(std::string_view key, const LinePlace& place) const;

  // The integers at `key`, or of the line itself if it is an array and `key` is empty, in place of what `out` holds.
  Status Integers(std::string_view key, const LinePlace& place, std::vector<int32_t>& out) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

// True for a line of JSON white space only.
bool IsBlankLine(std::string_view line);

}  // namespace tidemill::data
