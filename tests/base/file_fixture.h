// A temporary directory of one test, and a limit on file sizes that stands in for a full disk.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// Whether a message has the words that a reader of it needs.
inline bool Contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}
// For fixtures with a Refusal(contents): what was said about a file of these bytes.
#define EXPECT_REFUSED(contents, words) EXPECT_PRED2(Contains, Refusal(contents), words)

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidemill-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
  }
  ~FileTest() override { std::filesystem::remove_all(root_); }

  std::string Path(std::string_view name) const { return root_ / name; }

  std::string Write(std::string_view name, std::string_view contents) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::filesystem::remove(Path(name));  // ext4 flushes a file that is truncated and closed: slow for thousands
    std::ofstream(Path(name), std::ios::binary) << contents;
    return Path(name);
  }
  std::string Read(std::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The names in a directory, sorted and joined by spaces.
  std::string Listing(std::string_view name = "") const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Path(name))) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    std::string joined;
    for (const auto& each : names) joined += (joined.empty() ? "" : " ") + each;
    return joined;
  }

  std::filesystem::path root_;
};

// While it lives, no file of this process grows past `bytes`: write(2) then fails as on a full disk, with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limited) != 0) std::abort();
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace tidemill
