#include "train/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/train/golden_run.h"
#include "tests/train/session_run.h"

namespace tidemill::train {
namespace {

// Signals end processes: every case runs in a child, whose status is the answer.
int StatusOfChild(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    InstallSignalHandlers();
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

void ExitWith(bool good) { _exit(good ? 42 : 1); }

TEST(Signals, AskForAStopTheFirstTime) {
  EXPECT_EQ(StatusOfChild([] {
              const bool before = StopRequested();
              raise(SIGTERM);
              const Status status = CheckNotStopped();
              ExitWith(!before && StopRequested() && StopSignal() == SIGTERM && !status.has_value() &&
                       status.error().code == ErrorCode::kInterrupted);
            }),
            42);
}

TEST(Signals, EndTheProcessTheSecondTime) {
  EXPECT_EQ(StatusOfChild([] {
              raise(SIGINT);
              raise(SIGINT);
            }),
            130);
  EXPECT_EQ(StatusOfChild([] {
              raise(SIGINT);
              raise(SIGTERM);
            }),
            143);
}

TEST(Signals, AskForASaveAndGoOn) {
  EXPECT_EQ(StatusOfChild([] {
              const bool before = TakeSaveRequest();
              raise(SIGUSR1);
              const bool once = TakeSaveRequest(), twice = TakeSaveRequest();
              ExitWith(!before && once && !twice && !StopRequested() && CheckNotStopped().has_value());
            }),
            42);
}

TEST(Signals, LetAClosedPipeFailTheWriteInsteadOfTheRun) {
  EXPECT_EQ(StatusOfChild([] {
              int ends[2];
              if (pipe(ends) != 0) _exit(2);
              close(ends[0]);
              ExitWith(write(ends[1], "x", 1) < 0);
            }),
            42);
}

TEST(Signals, StopTheLoadingOfWeights) {
  EXPECT_EQ(StatusOfChild([] {
              bool stopped = false;
              {
                const GoldenRun golden("llama_gqa_tied_f32");
                raise(SIGTERM);
                const auto run = SessionRun::Open(*golden.Config({}));
                stopped = !run.has_value() && run.error().code == ErrorCode::kInterrupted;
              }
              ExitWith(stopped);
            }),
            42);
}

}  // namespace
}  // namespace tidemill::train
