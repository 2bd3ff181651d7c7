// The built program as a child process whose lines can be waited for: what happens to a run while it is running.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace tidemill::tools {

class ChildProgram {
 public:
  explicit ChildProgram(const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    static std::string program = TIDEMILL_PROGRAM;
    argv.push_back(program.data());
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      ::execv(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    stderr_ = ends[0];
  }
  ~ChildProgram() {
    if (pid_ > 0) {
      Signal(SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(stderr_);
  }
  ChildProgram(const ChildProgram&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int number) const { ::kill(pid_, number); }

  // Reads what it writes to stderr until `text` is there; false if it ends before.
  bool WaitFor(const std::string& text) {
    while (text_.find(text) == std::string::npos) {
      if (!ReadSome()) return false;
    }
    return true;
  }

  // Its exit status when it has ended; 128 + the signal that ended it.
  int Wait() {
    while (ReadSome()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string& text() const { return text_; }  // of stderr, so far

 private:
  bool ReadSome() {
    std::array<char, 4096> part{};
    const ssize_t count = ::read(stderr_, part.data(), part.size());
    if (count <= 0) return false;
    text_.append(part.data(), static_cast<size_t>(count));
    return true;
  }

  pid_t pid_ = 0;
  int stderr_ = -1;
  std::string text_;
};

}  // namespace tidemill::tools
