#include "io/io_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidemill::io {

void IoBatch::Add(size_t count) {
  const std::lock_guard lock(mutex_);
  unfinished_ += count;
}

void IoBatch::Finish(Status status) {
  const std::lock_guard lock(mutex_);  // held while notifying: the waiter may destroy the batch right after
  if (!status && status_) status_ = std::move(status);
  if (--unfinished_ == 0) over_.notify_one();
}

Status IoBatch::Wait() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return unfinished_ == 0; });
  return std::exchange(status_, Ok());
}

bool IoBatch::Done() const {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0;
}

IoQueue::IoQueue(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {
  const size_t requests_max = engine_->limits().requests_max;
  for (uint32_t i = 0; i < engine_->file_count(); ++i) files_.push_back(engine_->file(i));
  arrivals_.reserve(requests_max);
  taken_.reserve(requests_max);
  batch_.reserve(requests_max);
  owners_.resize(requests_max);
  free_tags_.reserve(requests_max);
  for (size_t i = requests_max; i > 0; --i) free_tags_.push_back(static_cast<uint32_t>(i - 1));
  done_.resize(std::min<size_t>(requests_max, 64));
  thread_ = std::thread([this] { Serve(); });
}

IoQueue::~IoQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    arrived_.notify_one();
  }
  thread_.join();
}

void IoQueue::Submit(std::span<const IoRequest> requests, IoBatch& batch) {
  TM_CHECK(requests.size() <= engine_->limits().requests_max);
  batch.Add(requests.size());
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return admitted_ + requests.size() <= engine_->limits().requests_max; });
  admitted_ += requests.size();
  for (const IoRequest& request : requests) arrivals_.push_back({request, &batch});
  if (waiting_for_drive_) {
    engine_->Wake();
  } else {
    arrived_.notify_one();
  }
}

EngineCounters IoQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

// False when the queue ends.
bool IoQueue::TakeArrivals() {
  std::unique_lock lock(mutex_);
  waiting_for_drive_ = false;
  if (engine_->outstanding() == 0) arrived_.wait(lock, [&] { return !arrivals_.empty() || stop_; });
  if (stop_ && arrivals_.empty() && engine_->outstanding() == 0) return false;
  std::swap(arrivals_, taken_);
  waiting_for_drive_ = true;  // from here on a Submit() has to wake the engine
  return true;
}

void IoQueue::Serve() {
  while (TakeArrivals()) {
    SubmitTaken();
    if (engine_->outstanding() == 0) continue;
    const auto count = engine_->Reap(done_, 1);
    if (!count) return ServeBroken(count.error());
    Complete(std::span(done_).first(*count));
  }
}

// The kernel interface broke: everything that was and will be asked for ends with that.
void IoQueue::ServeBroken(const Error& error) {
  for (uint32_t tag = 0; tag < owners_.size(); ++tag) {
    if (owners_[tag] == nullptr) continue;
    IoCompletion lost{tag, tl::make_unexpected(error)};
    Complete({&lost, 1});
  }
  std::unique_lock lock(mutex_);
  waiting_for_drive_ = false;
  while (true) {
    arrived_.wait(lock, [&] { return !arrivals_.empty() || stop_; });
    if (arrivals_.empty()) return;
    for (const Entry& entry : arrivals_) entry.batch->Finish(tl::make_unexpected(error));
    admitted_ -= arrivals_.size();
    arrivals_.clear();
    room_.notify_all();
  }
}

void IoQueue::SubmitTaken() {
  batch_.clear();
  for (const Entry& entry : taken_) {
    const uint32_t tag = free_tags_.back();
    free_tags_.pop_back();
    owners_[tag] = entry.batch;
    batch_.push_back(entry.request);
    batch_.back().tag = tag;
  }
  taken_.clear();
  if (batch_.empty() || engine_->Submit(batch_)) return;
  // One of them is refused, and the engine has taken none: each on its own.
  for (const IoRequest& request : batch_) {
    if (Status status = engine_->Submit({&request, 1}); !status) {
      IoCompletion refused{request.tag, std::move(status)};
      Complete({&refused, 1});
    }
  }
}

void IoQueue::Complete(std::span<IoCompletion> done) {
  if (done.empty()) return;
  {
    const std::lock_guard lock(mutex_);  // who has waited for a request finds it counted
    counters_ = engine_->counters();
    admitted_ -= done.size();
  }
  room_.notify_all();
  for (IoCompletion& completion : done) {
    const auto tag = static_cast<uint32_t>(completion.tag);
    free_tags_.push_back(tag);
    std::exchange(owners_[tag], nullptr)->Finish(std::move(completion.status));
  }
}

}  // namespace tidemill::io
