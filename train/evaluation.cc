// `tidemill eval`, through the store: a model larger than device and host memory is evaluated as well.
#include <algorithm>
#include <cstdio>

#include "train/evaluator.h"
#include "train/jobs.h"
#include "train/machine.h"
#include "train/signals.h"
#include "train/weights.h"

namespace tidemill::train {

Result<EvalReport> Evaluate(const EvalOptions& options) {
  InstallSignalHandlers();
  TM_ASSIGN_OR_RETURN(ModelFiles files, OpenModel(options.model, {}, true));
  TM_ASSIGN_OR_RETURN(SampleSource source,
                      SampleSource::Open(files, {options.eval_data}, options.max_length, options.dataset_format));
  TM_ASSIGN_OR_RETURN(std::unique_ptr<gpu::Device> device, OpenDevice(options.tiers));
  JobShape job;
  job.evaluation_batches = 1;
  job.positions = source.longest_row();
  job.sequences = std::min(static_cast<uint64_t>(options.batch_size), source.size());
  job.rows = job.positions * job.sequences;
  job.dtype = options.dtype;
  const uint64_t available = DescribeMachine().usable_memory_bytes();
  TM_ASSIGN_OR_RETURN(Preparation preparation, Prepare(std::move(files), options.tiers, job, *device, available));
  TM_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                      Session::Open(std::move(preparation), std::move(device), "eval of " + options.model));
  for (const std::string& note : session->Notes()) std::fprintf(stderr, "%s\n", note.c_str());
  TM_RETURN_IF_ERROR(LoadWeights(*session->preparation().files.folder, session->state(), false));
  return EvaluateAll(*session, source, options.batch_size);
}

}  // namespace tidemill::train
