// A tile of 2^31 + 1 elements in one call. One piece of memory is mapped over and over, so that 18 GB of addresses take
// a few hundred MiB; only the tile's end has pages of its own, and must come out as a small tile of its own would.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/dtype.h"
#include "tests/cpu_adam/tile_buffers.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TM_SANITIZED 1
#else
#define TM_SANITIZED 0
#endif

namespace tidemill::cpu_adam::tests {
namespace {

constexpr size_t kCount = (size_t{1} << 31) + 1, kPiece = size_t{32} << 20, kOwn = size_t{1} << 20;

class RepeatedMemory {
 public:
  // `ends`: byte offsets near which the memory is not shared with the rest.
  RepeatedMemory(size_t bytes, std::initializer_list<size_t> ends) : size_((bytes / kPiece + 2) * kPiece) {
    void* const start = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return;
    data_ = static_cast<std::byte*>(start);
    const int piece = ::memfd_create("piece", 0);
    good_ = piece >= 0 && ::ftruncate(piece, kPiece) == 0;
    for (size_t at = 0; at < size_; at += kPiece) good_ = good_ && Map(at, kPiece, MAP_SHARED, piece);
    for (const size_t end : ends)
      good_ = good_ && Map(end / kOwn * kOwn - kOwn, 3 * kOwn, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (piece >= 0) ::close(piece);
  }
  ~RepeatedMemory() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  RepeatedMemory(const RepeatedMemory&) = delete;

  bool good() const { return good_; }
  std::byte* data() const { return data_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  bool Map(size_t at, size_t bytes, int flags, int fd) {
    return ::mmap(data_ + at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) != MAP_FAILED;
  }

  const size_t size_;
  std::byte* data_ = nullptr;
  bool good_ = false;
};

void ExpectTheEndIsSteppedAsItIsAlone(StateDtype state) {
  constexpr size_t kEnd = 64 * kMomentBlock + 1, kFirst = kCount - kEnd;
  const size_t moment_bytes = MomentBytes(state, kCount),
               codes_end = state == StateDtype::kInt8 ? kCount : moment_bytes;
  const RepeatedMemory master(kCount * 4, {kCount * 4}), grad(kCount * 2, {kCount * 2});
  const RepeatedMemory m(moment_bytes, {codes_end, moment_bytes}), v(moment_bytes, {codes_end, moment_bytes});
  if (!master.good() || !grad.good() || !m.good() || !v.good()) GTEST_SKIP() << "no room for 18 GB of addresses";

  TileBuffers alone({.count = kEnd, .state = state, .bf16_grad = true});
  std::memcpy(master.as<float>() + kFirst, alone.master(), kEnd * 4);
  std::memcpy(grad.as<uint16_t>() + kFirst, alone.grad(), kEnd * 2);
  std::vector<float> exp_avg(kEnd), exp_avg_sq(kEnd), other(kEnd), other_sq(kEnd);
  TileView end = alone.View();
  end.rounding.first_element = kFirst;
  DecodeMoments(end.moments, exp_avg, exp_avg_sq);
  EncodeMoments(exp_avg, exp_avg_sq, {}, PageMoments(state, m.data(), v.data(), kCount, kFirst));

  ThreadTeam team(2);
  const TileView whole{.count = kCount,
                       .master = Fp32Master{master.as<float>()},
                       .moments = PageMoments(state, m.data(), v.data(), kCount),
                       .grad = Bf16Grad{grad.as<uint16_t>()},
                       .rounding = {.seed = 42, .step = 3}};
  ASSERT_TRUE(StepTile(TestCoefficients(), whole, team));
  ASSERT_TRUE(StepTile(TestCoefficients(), end));
  EXPECT_EQ(std::memcmp(master.as<float>() + kFirst, alone.master(), kEnd * 4), 0);
  DecodeMoments(PageMoments(state, m.data(), v.data(), kCount, kFirst), other, other_sq);
  DecodeMoments(end.moments, exp_avg, exp_avg_sq);
  EXPECT_EQ(other, exp_avg);
  EXPECT_EQ(other_sq, exp_avg_sq);
}

// int8 has the most places to count in: codes, scales behind them, and streams of four widths beside them.
TEST(LargeTile, Of2To31And1ElementsEndsAsASmallOneDoes) {
  if (TM_SANITIZED != 0) GTEST_SKIP() << "sanitizers shadow every mapping and see its copies as races";
  if (BestIsa() == Isa::kScalar) GTEST_SKIP() << "the scalar kernel takes a minute";
  ExpectTheEndIsSteppedAsItIsAlone(StateDtype::kInt8);
}

}  // namespace
}  // namespace tidemill::cpu_adam::tests
