// What `plan` says about a run, and what `train` says before its first step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemill::train {

struct PlanReport {
  uint64_t parameters = 0, trainable_parameters = 0;
  bool fits = true;
  std::string smallest_change;  // if it does not fit: what would make it, "--host-memory 2.1 GiB"

  // Where each kind lives: {"params", "host=0.4,nvme=0.6"}.
  std::vector<std::pair<std::string, std::string>> homes;

  std::string master_dtype;  // "fp32", "bf16"; as the next
  std::string state_dtype;   // of AdamW's moments; empty: no optimizer
  uint64_t state_bytes = 0;  // of both moments, page padding included

  struct Tier {
    std::optional<uint64_t> budget_bytes;  // nothing: the machine has no such tier
    uint64_t peak_bytes = 0;
    std::vector<std::pair<std::string, uint64_t>> items;  // what the peak is made of; adds up to it
  };
  std::array<Tier, 3> tiers;  // device, host, nvme
  uint64_t pinned_bytes = 0;  // of the host's peak: registered with the kernel, so never swapped out

  struct Lane {
    uint64_t bytes = 0;                 // per step
    std::optional<double> bytes_per_s;  // nothing: not known
    bool measured = false;              // the rate is a profile's; else it is assumed: a flag's
    std::optional<double> busy_seconds, hidden_seconds, exposed_seconds;
  };
  std::array<Lane, 6> lanes;  // compute, upload, download, nvme_read, nvme_write, adam

  std::optional<double> step_seconds, tokens_per_second;
  std::optional<std::string> bound;  // a lane, or "cores"
  std::vector<std::string> advice;
  uint64_t nvme_bytes_written_per_step = 0;
};

// One object; what is not known is null.
std::string FormatPlanJson(const PlanReport& report);

// Lines for people.
std::string FormatPlan(const PlanReport& report);

}  // namespace tidemill::train
