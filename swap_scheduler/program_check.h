// What a program promises (program.h), checked: a program that breaks it is our own mistake and ends the process.
#pragma once

#include "swap_scheduler/program.h"

namespace tidemill::swap_scheduler {

// Every page is read only while it is alive, used once in an operation, and dead at the end if it is transient; tiers
// fit lanes; phase blocks never fall; sizes are multiples of 4096.
void CheckProgram(const Program& program);

}  // namespace tidemill::swap_scheduler
