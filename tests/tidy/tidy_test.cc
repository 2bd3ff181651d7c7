// Checks the source tree itself: who may include whom, how long a file or a function may be, what no file may hold.
// The rules are the ones in docs/ARCHITECTURE.md; change them there and here, together.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tidemill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileLinesMax = 350;
constexpr size_t kFunctionLinesMax = 60;

// Folder -> the folders its files may include, besides itself.
const std::map<std::string, std::set<std::string>> kLayers = {
    {"base", {}},
    {"io", {"base"}},
    {"gpu", {"base"}},
    {"cpu_adam", {"base"}},
    {"swap_scheduler", {"base"}},
    {"data", {"base"}},
    {"offload", {"base", "io", "gpu", "cpu_adam", "swap_scheduler"}},
    {"model", {"base", "gpu"}},
    {"train", {"base", "io", "gpu", "cpu_adam", "swap_scheduler", "data", "offload", "model"}},
    {"tools", {"base", "io", "gpu", "cpu_adam", "swap_scheduler", "data", "offload", "model", "train"}},
};

struct Source {
  std::string path;    // from the root
  std::string folder;  // the layer it belongs to: "io" for io/x.cc and for tests/io/x.cc
  bool is_test = false;
  std::vector<std::string> lines;
};

Source Read(const fs::path& path, const fs::path& root) {
  Source source;
  const fs::path relative = fs::relative(path, root);
  source.path = relative.string();
  auto part = relative.begin();
  source.is_test = *part == "tests";
  if (source.is_test) ++part;
  source.folder = part->string();
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) source.lines.push_back(line);
  return source;
}

std::vector<Source> SourcesWith(const std::set<std::string>& extensions, const std::set<std::string>& names = {}) {
  const fs::path root = TIDEMILL_SOURCE_DIR;
  std::vector<fs::path> folders{root / "tests", root / "docs", root / "cmake", root / "examples"};
  for (const auto& [folder, allowed] : kLayers) folders.push_back(root / folder);
  std::vector<Source> sources;
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      if (extensions.contains(entry.path().extension()) || names.contains(entry.path().filename()))
        sources.push_back(Read(entry.path(), root));
    }
  }
  return sources;
}

std::vector<Source> CodeFiles() { return SourcesWith({".h", ".cc", ".cu", ".cuh", ".inc"}); }

size_t Indent(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A function opens with a line that ends in "{" after its parameters and closes with a brace in the same column; in a
// class it is indented. Loops and conditions are shaped alike and are counted too: they are shorter than what holds
// them. Parameters may go over several lines: what counts is the last.
bool OpensFunction(const std::string& line) {
  for (const char* ending : {") {", "const {", "noexcept {", "override {"}) {
    if (line.ends_with(ending)) return true;
  }
  return line.find(") -> ") != std::string::npos && line.ends_with(" {");
}

// Empties the lines within raw strings: they are data, not code.
std::vector<std::string> WithoutRawStrings(std::vector<std::string> lines) {
  bool inside = false;
  for (std::string& line : lines) {
    const size_t open = line.rfind("R\"("), close = line.rfind(")\"");
    const bool was_inside = inside;
    if (open != std::string::npos && (close == std::string::npos || close < open)) {
      inside = true;
    } else if (close != std::string::npos) {
      inside = false;
    }
    if (was_inside) line.clear();
  }
  return lines;
}

// The first line of every function that is too long, counted from the line that opens it.
std::vector<std::string> LongFunctions(const Source& source) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = WithoutRawStrings(source.lines);
  for (size_t start = 0; start < lines.size(); ++start) {
    if (!OpensFunction(lines[start])) continue;
    // Of wrapped parameters the opening line is indented deeper than the function's end.
    size_t first = start;
    while (first > 0 && Indent(lines[first]) > 0 && lines[first].find('(') == std::string::npos) --first;
    const size_t indent = Indent(lines[first]);
    size_t end = start + 1;
    const auto closes = [&](const std::string& line) {
      return Indent(line) <= indent && line.find('}') == Indent(line);
    };
    while (end < lines.size() && !closes(lines[end])) ++end;
    if (end - first + 1 > kFunctionLinesMax) found.push_back(source.path + ":" + std::to_string(first + 1));
  }
  return found;
}

TEST(Tidy, IncludesPointDownTheLayers) {
  for (const Source& source : CodeFiles()) {
    const auto layer = kLayers.find(source.folder);
    if (layer == kLayers.end()) continue;  // fakes and end-to-end tests may use everything
    for (const std::string& line : source.lines) {
      if (!line.starts_with("#include \"")) continue;
      const std::string target = line.substr(10, line.find('/', 10) - 10);
      const bool allowed =
          target == source.folder || layer->second.contains(target) || (source.is_test && target == "tests");
      EXPECT_TRUE(allowed) << source.path << " may not include from " << target << "/: " << line;
    }
  }
}

TEST(Tidy, FilesStayShort) {
  for (const Source& source : CodeFiles()) {
    if (source.path.ends_with(".inc")) continue;  // generated tables
    EXPECT_LE(source.lines.size(), kFileLinesMax) << source.path;
  }
}

TEST(Tidy, FunctionsFitOnAScreen) {
  for (const Source& source : CodeFiles()) {
    for (const std::string& place : LongFunctions(source)) ADD_FAILURE() << place << " is a function too long";
  }
}

TEST(Tidy, SeesALongFunctionWhereverItStands) {
  for (const std::string indent : {"", "  "}) {
    Source source{"x.cc", "base", false, {indent + "int F(int a,", indent + "      int b) {"}};
    source.lines.insert(source.lines.end(), kFunctionLinesMax - 3, indent + "  ++a;");
    source.lines.push_back(indent + "}");
    EXPECT_TRUE(LongFunctions(source).empty());
    source.lines.insert(source.lines.begin() + 2, indent + "  ++b;");
    EXPECT_FALSE(LongFunctions(source).empty()) << "indent '" << indent << "'";
  }
}

TEST(Tidy, HeadersAreGuardedByPragmaOnce) {
  for (const Source& source : SourcesWith({".h", ".cuh"})) {
    const auto& lines = source.lines;
    EXPECT_TRUE(std::find(lines.begin(), lines.end(), "#pragma once") != lines.end()) << source.path;
  }
}

// Spelled in halves, so that this file passes too.
TEST(Tidy, NothingIsLeftForLaterAndNoPathIsOfOneMachine) {
  const std::vector<std::string> banned = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                           std::string("/wo") + "rk/", std::string("/ho") + "me/",
                                           std::string("/ro") + "ot/"};
  for (const Source& source : SourcesWith({".h", ".cc", ".cu", ".sh", ".py", ".md", ".cmake"}, {"CMakeLists.txt"})) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      for (const std::string& word : banned)
        EXPECT_EQ(source.lines[i].find(word), std::string::npos) << source.path << ":" << i + 1 << " holds " << word;
    }
  }
}

TEST(Tidy, TheTestsMirrorTheTree) {
  for (const auto& entry : fs::directory_iterator(fs::path(TIDEMILL_SOURCE_DIR) / "tests")) {
    const std::string name = entry.path().filename();
    const std::set<std::string> others{"CMakeLists.txt",           "fakes", "golden", "end_to_end", "fuzz", "tidy",
                                       "transformers_roundtrip.py"};
    EXPECT_TRUE(kLayers.contains(name) || others.contains(name)) << "tests/" << name;
  }
}

}  // namespace
}  // namespace tidemill
