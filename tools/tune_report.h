// What `tune` makes of its measurements: the profile, the words, the JSON. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/tune.h"
#include "train/config/io_profile.h"

namespace tidemill::tools {

// Of the machine beside its drives; what was not measured is absent.
struct HostRates {
  std::string host;         // its name
  std::string measured_at;  // as IoProfile has it
  uint64_t cores = 0;
  std::optional<double> dram_bytes_per_s;
  std::map<std::string, double> adam;     // ns for each parameter
  std::map<std::string, double> compute;  // FLOP/s
};

train::IoProfile MakeProfile(const io::TuneResult& tuned, const HostRates& host);

// {"aio": {...}} with the keys that DeepSpeed reads (runtime/swap_tensor/aio_config.py: the number of threads is
// "intra_op_parallelism"; a "thread_count" it ignores).
std::string DeepSpeedAio(const io::BenchPoint& point);

// Whether the chosen point is better than the default, and by how much; or that noise hides it.
std::string ChoiceSentence(const io::TuneResult& tuned);
// What limits the drives, what a step costs, what size of model is comfortable; a line each.
std::vector<std::string> Verdict(const io::TuneResult& tuned, const train::IoProfile& profile);

std::string TuneText(const io::TuneResult& tuned, const train::IoProfile& profile);
// {"results":[{a row of bench io's keys for each point of the final}],"above_noise","profile":{...},"deepspeed":{...},
// "verdict":[...]}, one object.
std::string TuneJson(const io::TuneResult& tuned, const train::IoProfile& profile);

}  // namespace tidemill::tools
