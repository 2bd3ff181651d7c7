// The loss of a data set: the sum over its supervised tokens divided by their number, whatever the batch size.
#pragma once

#include "train/jobs.h"
#include "train/session.h"
#include "train/training_data.h"

namespace tidemill::train {

// Stops with kInterrupted when a signal asks for it, kNotFinite when the loss is not finite.
Result<EvalReport> EvaluateAll(Session& session, SampleSource& source, int64_t batch_size);

// That the evaluation will have something to count, before hours of training say otherwise.
Status CheckSupervised(SampleSource& source);

}  // namespace tidemill::train
