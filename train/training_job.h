// The shape of a training run's steps, from its flags and its data.
#pragma once

#include "train/preparation.h"
#include "train/training_data.h"

namespace tidemill::train {

// `evaluation`: the data that is evaluated during training, or null.
JobShape TrainingJob(const RunConfig& config, const TrainingData& data, const SampleSource* evaluation);

// The same without data: every sequence as long as --max-length, one full window.
JobShape LargestTrainingJob(const RunConfig& config);

}  // namespace tidemill::train
