// The promise of equal bits: instruction sets, lengths, offsets, threads, cuts into tiles.
#include <gtest/gtest.h>

#include "tests/cpu_adam/tile_buffers.h"

namespace tidemill::cpu_adam::tests {
namespace {

struct Case {
  Master master;
  StateDtype state;
  bool bf16_grad;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const Master master : kMasters) {
    for (const StateDtype state : kStates) {
      for (const bool bf16_grad : {false, true}) cases.push_back({master, state, bf16_grad});
    }
  }
  return cases;
}

std::string Describe(const Case& c) {
  return "master " + std::to_string(static_cast<int>(c.master)) + " state " + std::string(StateDtypeName(c.state)) +
         (c.bf16_grad ? " bf16 grad" : " fp32 grad");
}

Shape ShapeOf(const Case& c, size_t count, size_t offset = 0) {
  return {.count = count,
          .offset = offset,
          .master = c.master,
          .state = c.state,
          .bf16_grad = c.bf16_grad,
          .seed = count * 16 + offset};
}

std::vector<std::byte> StepAlone(TileBuffers buffers, Isa isa) {
  EXPECT_TRUE(StepTile(TestCoefficients(), buffers.View(), isa));
  EXPECT_TRUE(buffers.GuardsUntouched());
  return buffers.Bytes();
}

TEST(AdamBits, EveryInstructionSetAgreesAtEveryLengthAndOffset) {
  for (const Case& c : AllCases()) {
    for (size_t count = 1; count <= 257; ++count) {
      // Every offset for short tiles, a different one per length beyond: the forms multiply to 30 combinations.
      for (size_t offset = count <= 17 ? 0 : count % 16; offset < 16; offset += count <= 17 ? 1 : 16) {
        const TileBuffers buffers(ShapeOf(c, count, offset));
        const auto witness = StepAlone(buffers, Isa::kScalar);
        for (const Isa isa : SupportedIsas()) {
          ASSERT_EQ(StepAlone(buffers, isa), witness)
              << Describe(c) << " count " << count << " offset " << offset << " isa " << IsaName(isa);
        }
      }
    }
  }
}

TEST(AdamBits, Fp32AgreesAtAllLengthsTo257AndAllOffsetsTo15) {
  for (size_t count = 18; count <= 257; ++count) {
    for (size_t offset = 0; offset < 16; ++offset) {
      const TileBuffers buffers(ShapeOf({Master::kFp32, StateDtype::kFp32, false}, count, offset));
      const auto witness = StepAlone(buffers, Isa::kScalar);
      for (const Isa isa : SupportedIsas()) ASSERT_EQ(StepAlone(buffers, isa), witness) << count << " " << offset;
    }
  }
}

TEST(AdamBits, ThreadsDoNotChangeABit) {
  ThreadTeam two(2), seven(7);
  for (const Case& c : AllCases()) {
    for (const size_t count : {1023UL, 4097UL, 20'001UL}) {
      const TileBuffers original(ShapeOf(c, count, 3));
      const auto alone = StepAlone(original, BestIsa());
      for (ThreadTeam* team : {&two, &seven}) {
        TileBuffers buffers = original;
        EXPECT_TRUE(StepTile(TestCoefficients(), buffers.View(), *team));
        EXPECT_TRUE(buffers.GuardsUntouched());
        ASSERT_EQ(buffers.Bytes(), alone) << Describe(c) << " count " << count << " threads " << team->size();
      }
    }
  }
}

TEST(AdamBits, CutsIntoTilesDoNotChangeABit) {
  for (const Case& c : AllCases()) {
    const Shape shape = ShapeOf(c, 3000);
    const bool rounded = c.state != StateDtype::kFp32 || c.master == Master::kBf16;
    const size_t unit = c.state == StateDtype::kInt8 ? kMomentBlock : rounded ? 2 : 1;
    for (const Isa isa : SupportedIsas()) {
      TileBuffers buffers(shape);
      const size_t cuts[] = {0, unit * 1, unit * 3, unit * 10, 3000};
      for (size_t i = 0; i + 1 < std::size(cuts); ++i)
        StepTile(TestCoefficients(), buffers.View(cuts[i], cuts[i + 1] - cuts[i]), isa);
      ASSERT_EQ(buffers.Bytes(), StepAlone(TileBuffers(shape), Isa::kScalar)) << Describe(c) << " " << IsaName(isa);
    }
  }
}

TEST(AdamBits, TheIndexMayPassFourGibielementsInsideATile) {
  for (const StateDtype state : kStates) {
    const Shape shape = ShapeOf({Master::kBf16, state, false}, 2048);
    TileBuffers whole(shape), cut(shape);
    const uint64_t first = (uint64_t{1} << 32) - 1000;
    TileView view = whole.View();
    view.rounding.first_element = first;
    StepTile(TestCoefficients(), view);
    for (size_t at = 0; at < 2048; at += kMomentBlock) {
      TileView tile = cut.View(at, kMomentBlock);
      tile.rounding.first_element = first + at;
      StepTile(TestCoefficients(), tile, Isa::kScalar);
    }
    ASSERT_EQ(whole.Bytes(), cut.Bytes()) << StateDtypeName(state);
  }
}

TEST(AdamBits, SplitMasterStepsLikeAnFp32MasterWithItsCopy) {
  TileBuffers split({.count = 5000, .master = Master::kSplit}), whole({.count = 5000, .master = Master::kFp32Bf16Copy});
  for (int64_t step = 1; step <= 20; ++step) {
    StepTile(TestCoefficients(step), split.View());
    StepTile(TestCoefficients(step), whole.View());
  }
  for (size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(split.param()[i], whole.param()[i]);
    ASSERT_EQ(JoinMaster(split.param()[i], split.rest()[i]), whole.master()[i]);
  }
}

TEST(AdamBits, SplitMasterKeepsEveryBitPatternOfTheMaster) {
  // A step that changes nothing (no gradient, no moments, no decay) on a spread of all 2^32 patterns.
  constexpr size_t kCount = 1 << 16;
  std::vector<uint16_t> param(kCount), rest(kCount);
  std::vector<float> m(kCount), v(kCount), g(kCount);
  const AdamCoefficients still = MakeAdamCoefficients({.learning_rate = 1e-3}, 0, 1, 1);
  for (uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
    for (const Isa isa : SupportedIsas()) {
      for (uint32_t high = 0; high < kCount; ++high) {
        const SplitBits bits = SplitMaster(std::bit_cast<float>((high << 16) | low));
        param[high] = bits.param;
        rest[high] = bits.rest;
      }
      StepTile(still,
               {.count = kCount,
                .master = SplitMasterView{param.data(), rest.data()},
                .moments = Fp32Moments{m.data(), v.data()},
                .grad = Fp32Grad{g.data()}},
               isa);
      for (uint32_t high = 0; high < kCount; ++high) {
        if ((high & 0x7fffU) >= 0x7f80U) continue;  // a master is finite
        ASSERT_EQ(std::bit_cast<uint32_t>(JoinMaster(param[high], rest[high])), (high << 16) | low);
      }
    }
  }
}

}  // namespace
}  // namespace tidemill::cpu_adam::tests
