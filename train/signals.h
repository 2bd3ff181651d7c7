// What a signal asks of a run. The first SIGINT or SIGTERM asks it to stop when it has saved, the second ends the
// process at once; SIGUSR1 asks for a save.
//
//   Threads   the questions may be asked from any thread, in loading, stepping, evaluating and saving alike.
//   Limits    process-wide state: there is one set of signal handlers in a process.
#pragma once

#include "base/result.h"

namespace tidemill::train {

// Installs the handlers. SIGPIPE is ignored from then on: a closed terminal must not cost a run.
void InstallSignalHandlers();

bool StopRequested();
int StopSignal();  // SIGINT or SIGTERM once requested, else 0

// Whether a save was asked for since the last call.
bool TakeSaveRequest();

// Fails with kInterrupted once a stop was requested: for loops that have nothing to save.
Status CheckNotStopped();

}  // namespace tidemill::train
