#include "train/run_record.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace tidemill::train {
namespace {

using swap_scheduler::Lane;

// Drops the lines of steps after `last_step`, and a line that a kill has torn.
Status CutMetrics(const std::string& path, int64_t last_step) {
  std::ifstream file(path);
  if (!file) return Ok();
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    const auto step = json.find("step");
    if (step == json.end() || (step->is_number_integer() && step->get<int64_t>() <= last_step)) kept += line + "\n";
  }
  return WriteFileAtomically(path, kept);
}

std::string Short(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

}  // namespace

Result<std::unique_ptr<RunRecord>> RunRecord::Open(const std::string& output_dir, int64_t resumed_step,
                                                   int64_t total_steps) {
  const std::string path = output_dir + "/metrics.jsonl";
  if (resumed_step > 0) TM_RETURN_IF_ERROR(CutMetrics(path, resumed_step));
  TM_ASSIGN_OR_RETURN(MetricsFile file, MetricsFile::Open(path, resumed_step > 0));
  std::unique_ptr<RunRecord> record(new RunRecord(std::move(file)));
  record->progress_ = std::make_unique<Progress>(stderr, ProgressStyle::Detect(), total_steps);
  return record;
}

Status RunRecord::LogStep(const Step& step, bool logged) {
  StepMetrics metrics;
  metrics.step = step.step;
  metrics.epoch = step.window->epoch;
  metrics.learning_rate = step.learning_rate;
  metrics.tokens = step.window->tokens;
  metrics.supervised_tokens = step.window->supervised;
  metrics.step_seconds = step.seconds;
  metrics.skipped = step.outcome == nullptr || !step.outcome->applied;
  for (size_t tier = 0; tier < swap_scheduler::kTiers; ++tier) metrics.peak_bytes[tier] = step.plan->peak_bytes[tier];
  std::string figures = "nothing supervised: no update";
  if (step.outcome != nullptr) {
    const offload::StepReport& report = step.outcome->report;
    metrics.loss = step.outcome->loss_sum / static_cast<double>(step.window->supervised);
    metrics.grad_norm = step.outcome->grad_norm;
    metrics.moved_bytes = {report.moved.upload, report.moved.download, report.moved.nvme_read, report.moved.nvme_write};
    constexpr std::array kOrder{Lane::kCompute,  Lane::kUpload,    Lane::kDownload,
                                Lane::kNvmeRead, Lane::kNvmeWrite, Lane::kAdam};
    for (size_t i = 0; i < kOrder.size(); ++i) metrics.busy_seconds[i] = report.times[kOrder[i]];
    figures = "loss " + Short(*metrics.loss) + "  grad norm " + Short(*metrics.grad_norm) + "  lr " +
              Short(step.learning_rate) + "  " + Short(static_cast<double>(step.window->tokens) / step.seconds) +
              " tokens/s";
    loss_total_ += *metrics.loss;
    ++trained_steps_;
  }
  ++steps_;
  seconds_total_ += step.seconds;
  tokens_total_ += step.window->tokens;
  progress_->Step(step.step, step.seconds, figures, logged);
  return logged ? file_.Append(FormatStep(metrics)) : Ok();
}

Status RunRecord::LogEvaluation(int64_t step, double epoch, double loss, int64_t tokens) {
  progress_->Note("step " + std::to_string(step) + ": eval loss " + Short(loss) + ", perplexity " +
                  Short(std::exp(loss)));
  return file_.Append(FormatFigures(
      step, epoch,
      {{"eval_loss", loss}, {"eval_perplexity", std::exp(loss)}, {"eval_tokens", static_cast<double>(tokens)}}));
}

Status RunRecord::Finish(const std::string& output_dir, int64_t steps) const {
  const std::string path = output_dir + "/train_results.json";
  if (steps_ == 0 && std::filesystem::exists(path)) return Ok();  // of the run that trained
  const double trained = static_cast<double>(trained_steps_);
  const nlohmann::ordered_json json{
      {"train_loss", trained_steps_ > 0 ? nlohmann::ordered_json(loss_total_ / trained) : nlohmann::ordered_json()},
      {"train_runtime", seconds_total_},
      {"train_steps_per_second", seconds_total_ > 0 ? trained / seconds_total_ : 0},
      {"train_tokens_per_second", seconds_total_ > 0 ? static_cast<double>(tokens_total_) / seconds_total_ : 0},
      {"global_step", steps}};
  return WriteFileAtomically(path, json.dump(2) + "\n");
}

}  // namespace tidemill::train
