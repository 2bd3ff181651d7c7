// Every engine under one name, over a real file in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/engine.h"
#include "io/open_engine.h"
#include "io/swap_file.h"
#include "tests/fakes/faulty_transport.h"
#include "tests/fakes/memory_transport.h"

namespace tidemill::io {

// Removed with everything in it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = testing::TempDir() + "tidemill_io_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

constexpr uint64_t kFileBytes = 4 * kMiB;

// "io_uring", "libaio", "posix", "memory", or those behind a fault: "short" (a page at a time), "interrupted".
// kUnavailable where the machine refuses that engine.
inline Result<std::unique_ptr<Engine>> MakeEngine(const std::string& name, const EngineLimits& limits,
                                                  uint64_t memory_file_bytes = kFileBytes) {
  if (name == "memory")
    return std::make_unique<Engine>(std::make_unique<fakes::MemoryTransport>(limits.depth, memory_file_bytes, 2),
                                    limits);
  if (name == "short" || name == "interrupted") {
    const fakes::FaultPlan plan = name == "short" ? fakes::FaultPlan{.moved_at_most = 2 * kAlignmentBytes + 100}
                                                  : fakes::FaultPlan{.interrupt_every = 2};
    return std::make_unique<Engine>(std::make_unique<fakes::FaultyTransport>(OpenPosixTransport(limits.depth), plan),
                                    limits);
  }
  TM_ASSIGN_OR_RETURN(const EngineChoice choice, ParseEngineChoice(name));
  TM_ASSIGN_OR_RETURN(OpenedEngine opened, OpenEngine({.choice = choice, .limits = limits}));
  return std::move(opened.engine);
}

inline AlignedBuffer Buffer(size_t bytes, uint32_t seed = 0) {
  AlignedBuffer buffer = AlignedBuffer::Allocate(bytes).value();
  uint32_t state = seed;
  if (seed != 0)
    for (std::byte& byte : buffer.span()) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return buffer;
}

inline bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// One request, to its end.
inline Status RunOne(Engine& engine, const IoRequest& request) {
  TM_RETURN_IF_ERROR(engine.Submit({&request, 1}));
  IoCompletion done;
  TM_ASSIGN_OR_RETURN(const size_t count, engine.Reap({&done, 1}, 1));
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(done.tag, request.tag);
  return done.status;
}

inline IoRequest WriteOf(uint64_t offset_bytes, std::span<std::byte> buffer, uint64_t tag = 1) {
  return {.op = IoRequest::Op::kWrite, .offset_bytes = offset_bytes, .buffer = buffer, .tag = tag};
}
inline IoRequest ReadOf(uint64_t offset_bytes, std::span<std::byte> buffer, uint64_t tag = 2) {
  return {.op = IoRequest::Op::kRead, .offset_bytes = offset_bytes, .buffer = buffer, .tag = tag};
}

}  // namespace tidemill::io
