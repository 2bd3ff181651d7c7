// JSON text in the very form of Python's json.dumps, so that files equal those that Python tools write, byte for byte.
//
// JsonWriter writes straight into a string: vocabularies have 10^5 keys, and an ordered document tree would be searched
// once per key. Keys come out in the order they are given; a value follows each key.
//
//   Threads   one thread at a time.
//   Limits    text must be valid UTF-8 and numbers finite: the callers have checked both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill::data {

// `text` between quotes. `ascii`: as ensure_ascii=True does, \uXXXX for everything outside printable ASCII.
void AppendJsonString(std::string& out, std::string_view text, bool ascii);
// The shortest digits that read back as the same double, in Python's layout: 1e-05, 0.0, 100000.0, 1e+16.
std::string PythonFloat(double value);

// json.dumps(value, indent=2, ensure_ascii=False).
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view key);

  JsonWriter& Text(std::string_view value);
  JsonWriter& Integer(int64_t value) { return Raw(std::to_string(value)); }
  JsonWriter& Float(double value) { return Raw(PythonFloat(value)); }
  JsonWriter& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }

  // A key and its value.
  JsonWriter& Text(std::string_view key, std::string_view value) { return Key(key).Text(value); }
  JsonWriter& Integer(std::string_view key, int64_t value) { return Key(key).Integer(value); }
  JsonWriter& Float(std::string_view key, double value) { return Key(key).Float(value); }
  JsonWriter& Bool(std::string_view key, bool value) { return Key(key).Bool(value); }
  JsonWriter& Null(std::string_view key) { return Key(key).Null(); }
  JsonWriter& Texts(std::string_view key, const std::vector<std::string>& values);

  // The document and a final newline. The writer is done.
  std::string Finish();

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  JsonWriter& Raw(std::string_view text);
  void BeforeValue();
  void NewLine();

  std::string out_;
  std::vector<bool> has_items_;  // one per open bracket
  bool after_key_ = false;
};

}  // namespace tidemill::data
