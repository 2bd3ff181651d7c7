// One engine shared by many threads: lanes submit to it and wait for their own requests.
//
// A thread of the queue's own uses the engine. A demand that arrives while that thread waits for the drive wakes it, so
// it overtakes everything that is not yet with the drive, whoever submitted that.
//
//   Ownership   owns the engine. Buffers are borrowed until the batch is over. The destructor waits for every batch.
//   Threads     any.
//   Limits      at most `requests_max` of the engine's requests at once: Submit() waits for room. A Submit() of more
//               than that is a caller's bug. Nothing is allocated after construction, except the text of errors.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "io/block_file.h"
#include "io/engine.h"

namespace tidemill::io {

// Requests whose end is awaited together. Outlives what was submitted to it; may be used again after Wait().
class IoBatch {
 public:
  IoBatch() = default;
  IoBatch(const IoBatch&) = delete;

  // Returns when everything submitted to it is over: Ok, or the first error. One thread waits.
  Status Wait();
  // Whether Wait() would return at once.
  bool Done() const;

  // The queue's side: `count` more requests to wait for, and the end of one.
  void Add(size_t count);
  void Finish(Status status);

 private:
  mutable std::mutex mutex_;
  std::condition_variable over_;
  size_t unfinished_ = 0;
  Status status_;
};

class IoQueue {
 public:
  // Files have been added to the engine, and nothing submitted to it.
  explicit IoQueue(std::unique_ptr<Engine> engine);
  ~IoQueue();
  IoQueue(const IoQueue&) = delete;

  // Takes the requests; what becomes of them is the batch's to say, also when the engine refuses one. Tags are ignored.
  void Submit(std::span<const IoRequest> requests, IoBatch& batch);

  // Makes every write whose batch is over durable. Waits for the drives on the caller's thread; others go on.
  Status Flush() const { return FlushFiles(files_); }

  std::string_view engine_name() const { return engine_->name(); }
  EngineCounters counters() const;

 private:
  struct Entry {
    IoRequest request;
    IoBatch* batch;
  };
  void Serve();
  bool TakeArrivals();
  void SubmitTaken();
  void Complete(std::span<IoCompletion> done);
  void ServeBroken(const Error& error);

  const std::unique_ptr<Engine> engine_;
  std::vector<BlockFile> files_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_, room_;
  std::vector<Entry> arrivals_;
  size_t admitted_ = 0;  // arrived and not over
  bool stop_ = false, waiting_for_drive_ = false;
  EngineCounters counters_;

  // Only the queue's own thread:
  std::vector<Entry> taken_;
  std::vector<IoRequest> batch_;
  std::vector<IoBatch*> owners_;  // by tag; null: free
  std::vector<uint32_t> free_tags_;
  std::vector<IoCompletion> done_;

  std::thread thread_;
};

}  // namespace tidemill::io
