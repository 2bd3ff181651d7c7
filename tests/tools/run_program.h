// The built program run to its end in a shell.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace tidemill::tools {

struct Outcome {
  int status = 0;
  std::string text;
};

// Runs the program in a shell; `arguments` say where its output goes.
inline Outcome RunProgram(const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe = popen((std::string(TIDEMILL_PROGRAM) + " " + arguments).c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) outcome.text += static_cast<char>(c);
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

}  // namespace tidemill::tools
