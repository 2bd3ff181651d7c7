// What this build does not have is refused by its name, so that no file ever gives other ids than its reference.
#include "tests/data/tokenizer_fixture.h"

namespace tidemill::data {
namespace {

struct Refusal {
  const char* name;
  TinySpec spec;
  const char* message;
};

class TokenizerRefusal : public testing::TestWithParam<Refusal> {};

INSTANTIATE_TEST_SUITE_P(
    Sections, TokenizerRefusal,
    testing::Values(
        Refusal{"Normalizer",
                {.normalizer = R"({"type":"NFC"})"},
                "normalizer 'NFC' (t.json): not available in this build"},
        Refusal{"Metaspace",
                {.pre_tokenizer = R"({"type":"Metaspace"})"},
                "pre_tokenizer 'Metaspace' (t.json): not available in this build"},
        Refusal{"SplitInASequence",
                {.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"Split"}]})"},
                "pre_tokenizer 'Split' (t.json): not available in this build"},
        Refusal{
            "NoPreTokenizer", {.pre_tokenizer = "null"}, "pre_tokenizer 'null' (t.json): not available in this build"},
        Refusal{"DigitsAlone",
                {.pre_tokenizer = R"({"type":"Digits","individual_digits":true})"},
                "pre_tokenizer without a ByteLevel at its end (t.json): not available in this build"},
        Refusal{"Roberta",
                {.post_processor = R"({"type":"RobertaProcessing"})"},
                "post_processor 'RobertaProcessing' (t.json): not available in this build"},
        Refusal{"NoDecoder", {.decoder = "null"}, "decoder 'null' (t.json): not available in this build"},
        Refusal{"Unigram",
                {.model_settings = R"("type":"Unigram")"},
                "model 'Unigram' (t.json): not available in this build"},
        Refusal{"Dropout",
                {.model_settings = R"("dropout":0.1)"},
                "model setting 'dropout' (t.json): not available in this build"},
        Refusal{"Prefix",
                {.model_settings = R"("continuing_subword_prefix":"##")"},
                "model setting 'continuing_subword_prefix' (t.json): not available in this build"},
        Refusal{"ByteFallback",
                {.model_settings = R"("byte_fallback":true)"},
                "model setting 'byte_fallback' (t.json): not available in this build"},
        Refusal{"UnknownSetting",
                {.model_settings = R"("shuffle_merges":1)"},
                "model setting 'shuffle_merges' (t.json): not available in this build"},
        Refusal{
            "AddedIdWithAGap",
            {.added = "[" + Added(300, "<|gap|>") + "]"},
            "added token '<|gap|>' has id 300, its place is 257 (t.json): renumber it, or let `tokenizers` write the "
            "file anew"},
        Refusal{"VocabIdTwice",
                {.more_vocab = R"(,"zz":65)"},
                "vocab token 'zz' or its id 65 is there twice (t.json): repair the file"},
        Refusal{"NegativeId", {.more_vocab = R"(,"zz":-1)"}, "vocab token 'zz' (t.json): its id must be 0 to 16777215"},
        Refusal{"TemplateWithoutIds",
                {.post_processor = R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X"}}]})"},
                "template token 'X' has no ids (t.json): repair the file"}),
    [](const testing::TestParamInfo<Refusal>& each) { return each.param.name; });

TEST_P(TokenizerRefusal, IsByName) {
  const auto tokenizer = Tokenizer::Parse(TinyJson(GetParam().spec), "t.json");
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(tokenizer.error().message, GetParam().message);
}

TEST(TokenizerFile, EmptyAffixesAndNoModelTypeAreGpt2sOwnSpelling) {
  const auto tokenizer =
      Tiny({.model_settings = R"("continuing_subword_prefix":"","end_of_word_suffix":"","dropout":null)"});
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Encode("hi"), Ids{256});
}

TEST(TokenizerFile, BrokenOrAbsentFilesAreErrors) {
  for (const char* text : {"", "{", "[]", "{}", "{\"model\":[]}", "\xFF\xFE"}) {
    EXPECT_FALSE(Tokenizer::Parse(text, "t.json").has_value()) << text;
  }
  const auto absent = Tokenizer::Open("/nonexistent/tokenizer.json");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tidemill::data
