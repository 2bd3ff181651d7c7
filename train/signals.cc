#include "train/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace tidemill::train {
namespace {

std::atomic<int> stop_signal = 0;
std::atomic<bool> save_requested = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void OnStop(int signal_number) {
  int none = 0;
  // _exit: destructors and stdio belong to code that the signal may have interrupted halfway.
  if (!stop_signal.compare_exchange_strong(none, signal_number)) _exit(128 + signal_number);
}

void OnSave(int) { save_requested = true; }

void Handle(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  stop_signal = 0;
  save_requested = false;
  Handle(SIGINT, OnStop);
  Handle(SIGTERM, OnStop);
  Handle(SIGUSR1, OnSave);
  Handle(SIGPIPE, SIG_IGN);
}

bool StopRequested() { return stop_signal != 0; }
int StopSignal() { return stop_signal; }
bool TakeSaveRequest() { return save_requested.exchange(false); }

Status CheckNotStopped() {
  if (!StopRequested()) return Ok();
  return Fail(ErrorCode::kInterrupted, StopSignal() == SIGTERM ? "stopped by SIGTERM" : "stopped by SIGINT");
}

}  // namespace tidemill::train
