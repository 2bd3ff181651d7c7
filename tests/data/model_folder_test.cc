#include "data/model_folder.h"

#include <string>
#include <vector>

#include "tests/data/safetensors_fixture.h"

namespace tidemill::data {
namespace {

class ModelFolderTest : public SafetensorsTest {
 protected:
  // A shard of one-float tensors with the values 1, 2, ...
  void WriteShard(const std::string& name, const std::vector<std::string>& tensors, float scale = 1) const {
    std::string header = "{", payload;
    for (size_t i = 0; i < tensors.size(); ++i) {
      header += (i == 0 ? "" : ",") + ("\"" + tensors[i]) + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
                std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
      const float value = scale * static_cast<float>(i + 1);
      payload.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    Write(name, FileOf(header + "}", payload));
  }
  void WriteIndex(const std::string& weight_map) const {
    Write("model.safetensors.index.json", R"({"metadata":{"total_size":1},"weight_map":)" + weight_map + "}");
  }
  std::string OpenRefusal() const {
    const auto folder = ModelFolder::Open(Path(""));
    if (folder.has_value()) return "";
    EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
    return folder.error().message;
  }
};

TEST_F(ModelFolderTest, OpensASingleFileAndPrefersItToAnIndex) {
  WriteShard("model.safetensors", {"a", "b"});
  WriteIndex(R"({"a":"gone.safetensors"})");
  const auto folder = ModelFolder::Open(Path("")).value();
  EXPECT_EQ(folder.tensors().size(), 2U);
  EXPECT_EQ(folder.total_bytes(), 8U);
  EXPECT_EQ(folder.Find("c"), nullptr);
  EXPECT_TRUE(Contains(folder.Get("c").error().message, "tensor 'c' is missing"));
}

TEST_F(ModelFolderTest, FindsTensorsInTheirShards) {
  WriteShard("s1.safetensors", {"a", "b"});
  WriteShard("s2.safetensors", {"c"}, 10);
  WriteIndex(R"({"c":"s2.safetensors","a":"s1.safetensors","b":"s1.safetensors"})");
  ModelFolder opened = ModelFolder::Open(Path("")).value();
  const ModelFolder folder = std::move(opened);
  ASSERT_EQ(folder.tensors().size(), 3U);
  float value = 0;
  const FolderTensor c = folder.Get("c").value();
  EXPECT_EQ(c.file->path(), Path("s2.safetensors"));
  ASSERT_TRUE(c.file->ReadAsFloat(*c.entry, 0, {&value, 1}).has_value());
  EXPECT_EQ(value, 10.0F);
}

TEST_F(ModelFolderTest, NamesWhatIsMissing) {
  EXPECT_TRUE(Contains(OpenRefusal(), "no model.safetensors and no model.safetensors.index.json"));
  WriteShard("s1.safetensors", {"a"});
  WriteIndex(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  EXPECT_TRUE(Contains(OpenRefusal(), "the shard 's2.safetensors' of the index is missing")) << OpenRefusal();
}

TEST_F(ModelFolderTest, RefusesShardsOutsideTheFolder) {
  for (const char* name :
       {"../s.safetensors", "/etc/passwd", "sub/s.safetensors", "..", ".", "", "s\\u0000.safetensors"}) {
    WriteIndex(R"({"a":")" + std::string(name) + R"("})");
    EXPECT_TRUE(Contains(OpenRefusal(), "tensor 'a' has the shard '")) << name << ": " << OpenRefusal();
    EXPECT_TRUE(Contains(OpenRefusal(), "which is not a file of the folder")) << name;
  }
}

TEST_F(ModelFolderTest, RefusesAnIndexThatIsNotOne) {
  const auto refusal = [&](const std::string& index) {
    Write("model.safetensors.index.json", index);
    return OpenRefusal();
  };
  EXPECT_TRUE(Contains(refusal("{"), "the index is not valid JSON"));
  EXPECT_TRUE(Contains(refusal("[]"), "the index is not valid JSON"));
  EXPECT_TRUE(Contains(refusal("{}"), "the index has no weight_map"));
  EXPECT_TRUE(Contains(refusal(R"({"weight_map":[]})"), "weight_map is not an object"));
  EXPECT_TRUE(Contains(refusal(R"({"weight_map":{"a":1}})"), "tensor 'a' has no shard name"));
  EXPECT_TRUE(Contains(refusal(R"({"weight_map":{},"weight_map":{}})"), "the key 'weight_map' twice"));
  EXPECT_TRUE(Contains(refusal(R"({"weight_map":{"a":"x","a":"x"}})"), "the tensor 'a' twice"));
}

TEST_F(ModelFolderTest, NamesTensorsThatIndexAndShardsDisagreeAbout) {
  WriteShard("s1.safetensors", {"a", "b"});
  WriteShard("s2.safetensors", {"c"});
  WriteIndex(R"({"a":"s1.safetensors","c":"s2.safetensors"})");
  EXPECT_TRUE(Contains(OpenRefusal(), "tensor 'b' is in the shard 's1.safetensors' but not in the index"));
  WriteIndex(R"({"a":"s1.safetensors","b":"s1.safetensors","c":"s2.safetensors","d":"s2.safetensors"})");
  EXPECT_TRUE(Contains(OpenRefusal(), "tensor 'd' is not in the shard 's2.safetensors'"));
  WriteIndex(R"({"a":"s1.safetensors","b":"s2.safetensors","c":"s2.safetensors"})");
  EXPECT_TRUE(Contains(OpenRefusal(), "tensor 'b' is not in the shard 's2.safetensors'"));
}

TEST_F(ModelFolderTest, NamesATensorThatIsInTwoShards) {
  WriteShard("s1.safetensors", {"a", "b"});
  WriteShard("s2.safetensors", {"b"});
  WriteIndex(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  EXPECT_TRUE(Contains(OpenRefusal(), "tensor 'b' is in two shards, 's1.safetensors' and 's2.safetensors'"));
}

TEST_F(ModelFolderTest, NamesTheShardThatIsTruncated) {
  WriteShard("s1.safetensors", {"a"});
  WriteIndex(R"({"a":"s1.safetensors"})");
  std::filesystem::resize_file(Path("s1.safetensors"), std::filesystem::file_size(Path("s1.safetensors")) - 1);
  EXPECT_TRUE(Contains(OpenRefusal(), "file truncated")) << OpenRefusal();
  EXPECT_TRUE(Contains(OpenRefusal(), Path("s1.safetensors")));
}

// A head that is there beside a tied embedding is either a copy or a contradiction.
TEST_F(ModelFolderTest, TellsACopiedHeadFromADifferentOne) {
  const std::string header = R"({"embed":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("copy":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
                             R"("other":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},)"
                             R"("column":{"dtype":"F32","shape":[2,1],"data_offsets":[16,24]}})";
  using std::string_literals::operator""s;
  const std::string ones = "\0\0\x80\x3f\0\0\0\x40"s;  // 1.0 and 2.0
  Write("model.safetensors", FileOf(header, ones + "\x80\x3f\0\x40"s + "\x80\x3f\x01\x40"s + ones));
  const auto folder = ModelFolder::Open(Path("")).value();
  const FolderTensor embed = folder.Get("embed").value();
  EXPECT_TRUE(SameValues(embed, folder.Get("copy").value()).value());
  EXPECT_FALSE(SameValues(embed, folder.Get("other").value()).value());
  EXPECT_FALSE(SameValues(embed, folder.Get("column").value()).value());
}

}  // namespace
}  // namespace tidemill::data
