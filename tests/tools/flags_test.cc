#include "tools/flags.h"

#include <gtest/gtest.h>

namespace tidemill::tools {
namespace {

constexpr FlagSpec kTable[] = {
    {"learning-rate", FlagKind::kNumber, "2e-5", ""},
    {"train-data", FlagKind::kPaths, "", ""},
    {"freeze", FlagKind::kTexts, "", ""},
    {"packing", FlagKind::kBool, "false", ""},
    {"shuffle", FlagKind::kBool, "true", ""},
    {"activation-checkpointing", FlagKind::kBool, "true", "", "auto"},
    {"max-steps", FlagKind::kInteger, "-1", ""},
    {"place-optimizer", FlagKind::kText, "auto", ""},
    {"dtype", FlagKind::kText, "auto", "", "auto|fp32|bf16"},
    {"host-memory", FlagKind::kSize, "auto", "", "auto"},
    {"output-dir", FlagKind::kPath, "", ""},
};
constexpr train::FlagAlias kAliases[] = {{"gradient-checkpointing", "activation-checkpointing"}};

Result<Flags> Parse(const std::vector<std::string>& words) { return Flags::Parse(kTable, words, kAliases); }

std::string ErrorOf(const std::vector<std::string>& words) {
  const auto flags = Parse(words);
  if (flags.has_value()) return "no error";
  EXPECT_EQ(flags.error().code, ErrorCode::kInvalidArgument);
  return flags.error().message;
}

TEST(Flags, TakeValuesBehindTheNameOrAnEqualsSign) {
  const auto flags = Parse({"--learning-rate", "1e-3", "--max-steps=-1", "--output-dir", "a,b=c"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ(flags->Number("learning-rate"), 1e-3);
  EXPECT_EQ(flags->Integer("max-steps"), -1);
  EXPECT_EQ(flags->Text("output-dir"), "a,b=c");
}

TEST(Flags, FoldUnderscoresInNamesAndNotInValues) {
  const auto flags = Parse({"--output_dir=my_out_dir", "--train_data", "a_b"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->Text("output-dir"), "my_out_dir");
  EXPECT_EQ(flags->Texts("train-data"), (std::vector<std::string>{"a_b"}));
}

TEST(Flags, LetTheLaterOneWin) {
  const auto flags = Parse({"--place-optimizer", "nvme", "--place_optimizer=host"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->Text("place-optimizer"), "host");
}

TEST(Flags, AddUpListsWhetherGivenOnceOrTwice) {
  const auto once = Parse({"--train-data", "A", "B", "--packing"});
  const auto twice = Parse({"--train-data", "A", "--packing", "--train-data=B"});
  ASSERT_TRUE(once.has_value() && twice.has_value());
  EXPECT_EQ(once->Texts("train-data"), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(twice->Texts("train-data"), once->Texts("train-data"));
}

TEST(Flags, KeepCommasInsideAValue) {
  const auto flags = Parse({"--place-optimizer", "host=0.4,nvme", "--train-data", "a,b.jsonl", "--freeze", "x{1,2}"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->Text("place-optimizer"), "host=0.4,nvme");
  EXPECT_EQ(flags->Texts("train-data").size(), 1U);
  EXPECT_EQ(flags->Texts("freeze"), (std::vector<std::string>{"x{1,2}"}));
}

TEST(Flags, LetATruthValueBeLeftOut) {
  const auto flags = Parse({"--packing", "--shuffle", "false", "--activation-checkpointing", "auto"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_TRUE(flags->Bool("packing"));
  EXPECT_FALSE(flags->Bool("shuffle"));
  EXPECT_EQ(flags->Text("activation-checkpointing"), "auto");
  EXPECT_TRUE(flags->positionals().empty());
}

TEST(Flags, TakeOtherSpellingsAsTheFlagItself) {
  const auto flags = Parse({"--gradient_checkpointing", "false"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_FALSE(flags->Bool("activation-checkpointing"));
}

TEST(Flags, NameTheNearestOfAnUnknownOne) {
  EXPECT_EQ(ErrorOf({"--lerning-rate", "1"}), "unknown flag --lerning-rate: did you mean --learning-rate");
  EXPECT_EQ(ErrorOf({"--dtyep", "fp32"}), "unknown flag --dtyep: did you mean --dtype");
  EXPECT_EQ(ErrorOf({"--xyzzy-quux"}), "unknown flag --xyzzy-quux");
}

TEST(Flags, RefuseValuesOfTheWrongKindByName) {
  EXPECT_EQ(ErrorOf({"--learning-rate", "fast"}), "--learning-rate is 'fast': give a finite number");
  EXPECT_EQ(ErrorOf({"--learning-rate", "nan"}), "--learning-rate is 'nan': give a finite number");
  EXPECT_EQ(ErrorOf({"--max-steps", "1.5"}), "--max-steps is '1.5': give a whole number");
  EXPECT_EQ(ErrorOf({"--dtype", "fp8"}), "--dtype is 'fp8': give one of auto, fp32, bf16");
  EXPECT_NE(ErrorOf({"--host-memory", "much"}).find("--host-memory"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--output-dir", ""}), "--output-dir is '': give a path");
}

TEST(Flags, TakeWholeNumbersInAnySpelling) {
  const auto flags = Parse({"--max-steps", "5e8", "--host-memory", "2GiB"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->Integer("max-steps"), 500'000'000);
  EXPECT_EQ(flags->Bytes("host-memory"), 2ULL << 30);
}

TEST(Flags, MissAValueAtTheEndOrBeforeAFlag) {
  EXPECT_EQ(ErrorOf({"--output-dir"}), "--output-dir needs a value: give one after it");
  EXPECT_EQ(ErrorOf({"--output-dir", "--packing"}), "--output-dir needs a value: give one after it");
}

TEST(Flags, KeepPositionalsInOrder) {
  const auto flags = Parse({"first", "--packing", "second", "--", "--third"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(flags->positionals(), (std::vector<std::string>{"first", "second", "--third"}));
}

TEST(Flags, SeeHelpBeforeAnythingElse) {
  const auto flags = Parse({"--nonsense", "--help"});
  ASSERT_TRUE(flags.has_value());
  EXPECT_TRUE(flags->help());
}

}  // namespace
}  // namespace tidemill::tools
