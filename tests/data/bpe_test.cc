#include "data/bpe.h"

#include <gtest/gtest.h>

#include <random>

namespace tidemill::data {
namespace {

using Ids = std::vector<int32_t>;

// Bytes are their own tokens, and merges make 256 and up.
BpeModel ByteModel(size_t merges) {
  BpeModel model{.token_of_byte = {}, .merges = MergeTable(merges), .whole_words = {}};
  for (int byte = 0; byte < 256; ++byte) model.token_of_byte[static_cast<size_t>(byte)] = byte;
  return model;
}

Ids Encode(const Bpe& bpe, std::string_view word) {
  Ids ids{-7};  // what is there already must stay
  bpe.EncodeWord(word, ids);
  EXPECT_EQ(ids.front(), -7);
  ids.erase(ids.begin());
  return ids;
}

// The definition, at its slowest: the lowest rank, the leftmost among equals, once at a time.
Ids MergeByDefinition(const MergeTable& merges, Ids ids) {
  for (;;) {
    size_t best = ids.size();
    int32_t best_rank = INT32_MAX;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge merge = merges.Find(ids[i], ids[i + 1]);
      if (merge.rank >= 0 && merge.rank < best_rank) best = i, best_rank = merge.rank;
    }
    if (best == ids.size()) return ids;
    ids[best] = merges.Find(ids[best], ids[best + 1]).result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, MergesShortAndLongWordsByTheDefinition) {
  std::mt19937 random(5);
  constexpr int32_t kMerges = 200;
  BpeModel model = ByteModel(kMerges);
  for (int32_t i = 0; i < kMerges; ++i) {  // pairs of anything made so far, over three letters
    const auto part = [&] {
      const auto k = static_cast<int32_t>(random() % static_cast<uint32_t>(3 + i));
      return k < 3 ? 'a' + k : 256 + k - 3;
    };
    model.merges.Add(part(), part(), {i, 256 + i});
  }
  const MergeTable merges = model.merges;
  const Bpe bpe(std::move(model));
  for (const size_t length : {1u, 2u, 3u, 31u, 32u, 33u, 34u, 100u, 500u}) {
    for (int round = 0; round < 20; ++round) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word += static_cast<char>('a' + random() % 3);
      EXPECT_EQ(Encode(bpe, word), MergeByDefinition(merges, Ids(word.begin(), word.end()))) << word;
    }
  }
}

TEST(Bpe, DropsBytesWithoutATokenAndLetsTheirNeighboursMeet) {
  BpeModel model = ByteModel(1);
  model.merges.Add('a', 'b', {0, 256});
  model.token_of_byte[4] = -1;
  const Bpe bpe(std::move(model));
  EXPECT_EQ(Encode(bpe,
                   "a\x04"
                   "b"),
            Ids{256});
  EXPECT_EQ(Encode(bpe, "\x04"), Ids{});
}

TEST(Bpe, UsesTheUnknownTokenIfThereIsOne) {
  BpeModel model = ByteModel(0);
  model.token_of_byte[4] = -1;
  model.unknown_token = 9;
  BpeModel fused = model;
  fused.fuse_unknown = true;
  EXPECT_EQ(Encode(Bpe(std::move(model)), "a\x04\x04z\x04"), (Ids{'a', 9, 9, 'z', 9}));
  EXPECT_EQ(Encode(Bpe(std::move(fused)), "a\x04\x04z\x04"), (Ids{'a', 9, 'z', 9}));
}

TEST(Bpe, WithIgnoreMergesTakesAKnownWordWhole) {
  BpeModel model = ByteModel(0);
  model.whole_words.emplace("word", 300);
  const Bpe bpe(std::move(model));
  EXPECT_EQ(Encode(bpe, "word"), Ids{300});
  EXPECT_EQ(Encode(bpe, "wor"), (Ids{'w', 'o', 'r'}));
}

TEST(MergeTable, TheLaterOfTwoEqualPairsCounts) {
  MergeTable table(2);
  table.Add(1, 2, {0, 10});
  table.Add(1, 2, {1, 11});
  EXPECT_EQ(table.Find(1, 2).rank, 1);
  EXPECT_EQ(table.Find(1, 2).result, 11);
  EXPECT_EQ(table.Find(2, 1).rank, -1);
}

}  // namespace
}  // namespace tidemill::data
