// Generation: ends at any of the end tokens, and streams whole characters only.
#include <gtest/gtest.h>

#include "data/utf8.h"
#include "tests/train/tiny_run.h"

namespace tidemill::train {
namespace {

// A model that answers each token of `chain` with the next one: its layers add nothing, and each token of the chain has
// a dimension of its own, in which the head names the token that follows.
TinyModel Chain(const std::vector<size_t>& chain) {
  TinyModel tiny;
  for (TinyTensor& tensor : tiny.tensors) {
    const bool norm = tensor.spec.shape.size() == 1;
    std::fill(tensor.values.begin(), tensor.values.end(), norm ? 1.0F : 0.0F);
  }
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    tiny["model.embed_tokens.weight"].values[chain[i] * 48 + i] = 1;
    tiny["lm_head.weight"].values[chain[i + 1] * 48 + i] = 10;
  }
  return tiny;
}

// "x", the four bytes of a thumb, then token 7 for good.
TinyModel Thumb() { return Chain({'x', 0xF0, 0x9F, 0x91, 0x8D, 7, 7}); }

std::string Joined(const Result<std::vector<std::string>>& pieces) {
  EXPECT_TRUE(pieces.has_value()) << pieces.error().message;
  std::string text;
  for (const std::string& piece : pieces.value_or(std::vector<std::string>{})) {
    EXPECT_EQ(data::RepairUtf8(piece), piece) << "a piece is cut inside a character";
    text += piece;
  }
  return text;
}

TEST(Generation, StopsAtAnyOfTheEndTokens) {
  TinyRun run;
  TinyModel tiny = Thumb();
  run.WriteTokenizer();
  for (const auto& ends : {nlohmann::json{5, 7}, nlohmann::json{7, 5}, nlohmann::json(7)}) {
    tiny.config["eos_token_id"] = ends;
    run.WriteModel(tiny);
    EXPECT_EQ(Joined(run.Generate("x", {{"max-new-tokens", "9"}})), "\xF0\x9F\x91\x8D");
  }
  tiny.config["eos_token_id"] = {5, 6};
  run.WriteModel(tiny);
  EXPECT_EQ(Joined(run.Generate("x", {{"max-new-tokens", "6"}})), "\xF0\x9F\x91\x8D\x07\x07");
  // generation_config.json wins.
  TinyRun::Write(run.model() + "/generation_config.json", R"({"eos_token_id": [5, 7]})");
  EXPECT_EQ(Joined(run.Generate("x", {{"max-new-tokens", "9"}})), "\xF0\x9F\x91\x8D");
}

TEST(Generation, StreamsACharacterWhenItIsWhole) {
  TinyRun run;
  run.WriteModel(Thumb());
  run.WriteTokenizer();
  const auto pieces = run.Generate("x", {{"max-new-tokens", "4"}});
  EXPECT_EQ(Joined(pieces), "\xF0\x9F\x91\x8D");
  EXPECT_EQ(std::count(pieces->begin(), pieces->end(), "\xF0\x9F\x91\x8D"), 1);
}

TEST(Generation, EndsWellInsideACharacter) {
  TinyRun run;
  run.WriteModel(Thumb());
  run.WriteTokenizer();
  EXPECT_EQ(Joined(run.Generate("x", {{"max-new-tokens", "2"}})), "\xEF\xBF\xBD");
}

TEST(Generation, IsTheSameFromEveryTier) {
  TinyRun run;
  run.WriteModel(TinyModel());
  run.WriteTokenizer();
  const Flags length{{"max-new-tokens", "20"}};
  const std::string device = Joined(run.Generate("hi there", length + Flags{{"place-params", "device"}}));
  EXPECT_FALSE(device.empty());
  const Flags nvme{{"swap-dir", run.swap()}, {"place-params", "nvme"}};
  EXPECT_EQ(device, Joined(run.Generate("hi there", length + nvme)));
}

}  // namespace
}  // namespace tidemill::train
