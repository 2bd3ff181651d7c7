#include "data/model_folder_writer.h"

#include <string>
#include <vector>

#include "data/companion_files.h"
#include "data/model_folder.h"
#include "data/output_directory.h"
#include "tests/data/safetensors_fixture.h"

namespace tidemill::data {
namespace {

const std::vector<TensorSpec> kTensors{{"a", DType::kBf16, {10}},  {"b", DType::kF32, {5}},
                                       {"norm", DType::kF32, {1}}, {"big", DType::kF32, {20}},
                                       {"none", DType::kF32, {0}}, {"c", DType::kBf16, {2}}};

class ModelFolderWriterTest : public SafetensorsTest {
 protected:
  // Fills every tensor with `value`.
  Status Save(const std::string& directory, uint64_t max_shard_bytes, float value) const {
    TM_ASSIGN_OR_RETURN(ModelFolderWriter writer,
                        ModelFolderWriter::Create(Path(directory), kTensors, max_shard_bytes));
    for (const TensorSpec* tensor = writer.current(); tensor != nullptr; tensor = writer.current()) {
      const std::vector<float> values(ElementsOf(tensor->shape).value(), value);
      TM_RETURN_IF_ERROR(writer.AppendFloats(values));
    }
    return writer.Commit();
  }
  std::vector<float> Load(const std::string& directory, const std::string& name) const {
    const auto folder = ModelFolder::Open(Path(directory)).value();
    const FolderTensor tensor = folder.Get(name).value();
    std::vector<float> values(tensor.entry->elements);
    EXPECT_TRUE(tensor.file->ReadAsFloat(*tensor.entry, 0, values).has_value());
    return values;
  }
};

TEST(PlanShards, FillsInOrderAndGivesALargeTensorItsOwn) {
  const auto sizes = [](uint64_t limit) {
    std::vector<size_t> counts;
    for (const auto& shard : PlanShards(kTensors, limit)) counts.push_back(shard.size());
    return counts;
  };
  EXPECT_EQ(sizes(128), (std::vector<size_t>{6}));  // 20 + 20 + 4 + 80 + 0 + 4, exactly full
  EXPECT_EQ(sizes(127), (std::vector<size_t>{5, 1}));
  EXPECT_EQ(sizes(44), (std::vector<size_t>{3, 1, 2}));
  EXPECT_EQ(sizes(1), (std::vector<size_t>{1, 1, 1, 1, 1, 1}));
}

TEST_F(ModelFolderWriterTest, WritesOneFileWhenItFits) {
  ASSERT_TRUE(Save("out", 128, 3).has_value());
  EXPECT_EQ(Listing("out"), "model.safetensors");
  EXPECT_EQ(Load("out", "c"), (std::vector<float>{3, 3}));
}

TEST_F(ModelFolderWriterTest,
       WritesShardsAndTheirIndex) {  // metadata, total_size, dtype per tensor
  ASSERT_TRUE(Save("out", 44, 2).has_value());
  EXPECT_EQ(Listing("out"),
            "model-00001-of-00003.safetensors model-00002-of-00003.safetensors model-00003-of-00003.safetensors "
            "model.safetensors.index.json");
  EXPECT_EQ(
      Read("out/model.safetensors.index.json"),
      "{\n  \"metadata\": {\n    \"total_size\": 128\n  },\n  \"weight_map\": {\n"
      "    \"a\": \"model-00001-of-00003.safetensors\",\n    \"b\": \"model-00001-of-00003.safetensors\",\n"
      "    \"norm\": \"model-00001-of-00003.safetensors\",\n    \"big\": \"model-00002-of-00003.safetensors\",\n"
      "    \"none\": \"model-00003-of-00003.safetensors\",\n    \"c\": \"model-00003-of-00003.safetensors\"\n  }\n}\n");
  const auto folder = ModelFolder::Open(Path("out")).value();
  ASSERT_EQ(folder.tensors().size(), kTensors.size());
  for (size_t i = 0; i < kTensors.size(); ++i) {
    EXPECT_EQ(folder.tensors()[i].entry->name, kTensors[i].name);
    EXPECT_EQ(folder.tensors()[i].entry->dtype, kTensors[i].dtype);
    EXPECT_EQ(folder.tensors()[i].file->metadata(), (Metadata{{"format", "pt"}}));
  }
}

TEST_F(ModelFolderWriterTest, ASaveReplacesTheOneBeforeWhateverItsShards) {
  for (const uint64_t limit : {44U, 128U, 1U, 44U, 128U}) {
    const float value = static_cast<float>(limit);
    ASSERT_TRUE(Save("out", limit, value).has_value());
    EXPECT_EQ(Load("out", "big"), std::vector<float>(20, value));
    const bool single = limit == 128;
    EXPECT_EQ(std::filesystem::exists(Path("out/model.safetensors")), single);
    EXPECT_EQ(std::filesystem::exists(Path("out/model.safetensors.index.json")), !single);
  }
  EXPECT_EQ(Listing("out"), "model.safetensors");
}

TEST_F(ModelFolderWriterTest, RemovesWhatAKilledSaveLeft) {
  Write("out/model-00002-of-00007.safetensors.partial", "half");
  Write("out/notes.txt", "mine");
  ASSERT_TRUE(Save("out", 128, 1).has_value());
  EXPECT_EQ(Listing("out"), "model.safetensors notes.txt");
}

TEST_F(ModelFolderWriterTest, ASaveThatIsNotCommittedLeavesTheFolderAsItWas) {
  ASSERT_TRUE(Save("out", 44, 1).has_value());
  const std::string before = Listing("out");
  {
    auto writer = ModelFolderWriter::Create(Path("out"), kTensors, 44).value();
    for (const size_t count : {10U, 5U, 1U, 20U}) {
      ASSERT_TRUE(writer.AppendFloats(std::vector<float>(count, 9)).has_value());
    }
    EXPECT_NE(Listing("out"), before);
  }
  EXPECT_EQ(Listing("out"), before);
  EXPECT_EQ(Load("out", "a"), std::vector<float>(10, 1));
}

TEST_F(ModelFolderWriterTest, AFullDiskLeavesTheLastSaveWhole) {
  ASSERT_TRUE(Save("out", 44, 1).has_value());
  const std::string before = Listing("out");
  {
    const FileSizeLimit limit(200);
    const Status status = Save("out", 44, 9);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
    EXPECT_TRUE(Contains(status.error().message, Path("out/model-0000"))) << status.error().message;
  }
  EXPECT_EQ(Listing("out"), before);
  EXPECT_EQ(Load("out", "big"), std::vector<float>(20, 1));
}

TEST_F(ModelFolderWriterTest, RefusesWhatCannotBeSaved) {
  const auto zero = ModelFolderWriter::Create(Path("out"), kTensors, 0);
  EXPECT_TRUE(Contains(zero.error().message, "--max-shard-size"));
  const auto twice = ModelFolderWriter::Create(Path("out"), {{"w", DType::kF32, {1}}, {"w", DType::kF32, {1}}}, 4);
  EXPECT_TRUE(Contains(twice.error().message, "tensor 'w' is there twice")) << twice.error().message;
  Write("file", "");
  const auto under_a_file = ModelFolderWriter::Create(Path("file/out"), kTensors, 128);
  EXPECT_TRUE(Contains(under_a_file.error().message, "file/out")) << under_a_file.error().message;
  EXPECT_EQ(Listing(), "file");
}

TEST_F(ModelFolderWriterTest, SaysBeforehandHowMuchSpaceIsMissing) {
  EXPECT_TRUE(RequireFreeSpace(Path(""), 1).has_value());
  const Status status = RequireFreeSpace(Path(""), uint64_t{1} << 60);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDoesNotFit);
  EXPECT_TRUE(Contains(status.error().message, Path(""))) << status.error().message;
}

}  // namespace
}  // namespace tidemill::data
