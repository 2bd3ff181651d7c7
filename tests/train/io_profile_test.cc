#include "train/config/io_profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tidemill::train {
namespace {

constexpr const char* kWhole = R"({
  "version": 1,
  "host": "mill",
  "device": "host",
  "swap_dirs": [
    {
      "path": "/mnt/fast",
      "engine": "io_uring",
      "bs_bytes": 1048576,
      "iodepth": 32,
      "numjobs": 1,
      "read_bytes_per_s": 6900000000,
      "write_bytes_per_s": 5100000000,
      "mixed": {
        "read_bytes_per_s": 2600000000,
        "write_bytes_per_s": 2500000000
      },
      "latency_us": 213.5
    },
    {
      "path": "/mnt/slow"
    }
  ],
  "upload_bytes_per_s": 25000000000,
  "download_bytes_per_s": 24000000000,
  "duplex_bytes_per_s": 40000000000,
  "dram_bytes_per_s": 81000000000,
  "adam": {
    "bf16": 0.251,
    "fp32": 0.347,
    "int8": 0.3
  },
  "compute": {
    "forward": 165000000000000
  },
  "cores": 16,
  "measured_at": "2026-01-31T12:00:00Z",
  "spread": 0.0123
}
)";

std::string ErrorOf(const std::string& text) {
  const auto profile = ParseIoProfile(text, "p.json");
  if (profile.has_value()) return "";
  EXPECT_EQ(profile.error().code, ErrorCode::kInvalidArgument);
  return profile.error().message;
}

TEST(IoProfile, PrintsAsTheBytesThatItWasReadFrom) {
  const auto profile = ParseIoProfile(kWhole, "p.json");
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(FormatIoProfile(*profile), kWhole);
}

TEST(IoProfile, KeepsEveryValue) {
  const IoProfile profile = ParseIoProfile(kWhole, "p.json").value();
  ASSERT_EQ(profile.swap_dirs.size(), 2U);
  const IoProfile::SwapDir& fast = profile.swap_dirs[0];
  EXPECT_EQ(fast.engine, "io_uring");
  EXPECT_EQ(fast.bs_bytes, 1048576U);
  EXPECT_EQ(fast.iodepth, 32U);
  EXPECT_EQ(fast.numjobs, 1U);
  EXPECT_EQ(fast.read_bytes_per_s, 6.9e9);
  EXPECT_EQ(fast.write_bytes_per_s, 5.1e9);
  EXPECT_EQ(fast.mixed_read_bytes_per_s, 2.6e9);
  EXPECT_EQ(fast.mixed_write_bytes_per_s, 2.5e9);
  EXPECT_EQ(fast.latency_us, 213.5);
  EXPECT_FALSE(profile.swap_dirs[1].read_bytes_per_s.has_value());
  EXPECT_EQ(profile.upload_bytes_per_s, 25e9);
  EXPECT_EQ(profile.adam.at("fp32"), 0.347);
  EXPECT_EQ(profile.compute.at("forward"), 165e12);
  EXPECT_EQ(profile.cores, 16U);
}

TEST(IoProfile, ReadsNumbersHoweverTheyAreWritten) {
  const auto profile = ParseIoProfile(
      R"({"version":1,"swap_dirs":[{"path":"/a","read_bytes_per_s":1.5e9,"mixed":{}}],"dram_bytes_per_s":8e10})", "p");
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->swap_dirs[0].read_bytes_per_s, 1.5e9);
  EXPECT_EQ(profile->dram_bytes_per_s, 8e10);
}

TEST(IoProfile, WhatIsAbsentOrNullWasNotMeasured) {
  const auto profile = ParseIoProfile(R"({"version":1,"upload_bytes_per_s":null})", "p");
  ASSERT_TRUE(profile.has_value());
  EXPECT_FALSE(profile->upload_bytes_per_s.has_value());
  EXPECT_TRUE(profile->swap_dirs.empty());
  EXPECT_EQ(nlohmann::json::parse(FormatIoProfile(*profile)), nlohmann::json({{"version", 1}}));
}

TEST(IoProfile, FindsADirectoryHoweverItIsSpelled) {
  const IoProfile profile = ParseIoProfile(kWhole, "p.json").value();
  EXPECT_EQ(profile.Find("/mnt/fast/"), &profile.swap_dirs[0]);
  EXPECT_EQ(profile.Find("/mnt/./other/../slow"), &profile.swap_dirs[1]);
  EXPECT_EQ(profile.Find("/mnt"), nullptr);
}

TEST(IoProfile, NamesTheKeyThatIsWrong) {
  struct Row {
    const char *text, *named;
  };
  const Row rows[] = {
      {R"({})", "$.version is missing"},
      {R"({"version":2})", "$.version is 2, and this build reads 1"},
      {R"({"version":"1"})", "$.version is \"1\""},
      {R"({"version":1.5})", "$.version is 1.5"},
      {R"({"version":1,"host":3})", "$.host is 3, not a text"},
      {R"({"version":1,"upload_bytes_per_s":"fast"})", "$.upload_bytes_per_s is \"fast\""},
      {R"({"version":1,"dram_bytes_per_s":0})", "$.dram_bytes_per_s is 0"},
      {R"({"version":1,"dram_bytes_per_s":-5})", "$.dram_bytes_per_s is -5"},
      {R"({"version":1,"cores":-1})", "$.cores is -1"},
      {R"({"version":1,"swap_dirs":{}})", "$.swap_dirs is {}, not a list"},
      {R"({"version":1,"swap_dirs":[7]})", "$.swap_dirs[0] is 7, not an object"},
      {R"({"version":1,"swap_dirs":[{"engine":"posix"}]})", "$.swap_dirs[0].path is missing"},
      {R"({"version":1,"swap_dirs":[{"path":"/a"},{"path":"/a/"}]})", "$.swap_dirs[1] repeats"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","engine":"fast"}]})", "$.swap_dirs[0].engine is 'fast'"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","bs_bytes":1000}]})", "$.swap_dirs[0].bs_bytes is 1000"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","iodepth":65537}]})", "$.swap_dirs[0].iodepth is 65537"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","read_bytes_per_s":true}]})", "$.swap_dirs[0].read_bytes_per_s is"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","read_byte_per_s":1}]})", "perhaps it is read_bytes_per_s"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","mixed":3}]})", "$.swap_dirs[0].mixed is 3"},
      {R"({"version":1,"swap_dirs":[{"path":"/a","mixed":{"read":1}}]})", "$.swap_dirs[0].mixed.read is unknown"},
      {R"({"version":1,"adam":{"fp32":"x"}})", "$.adam.fp32 is \"x\""},
      {R"({"version":1,"compute":[]})", "$.compute is []"},
      {R"({"version":1,"uploads_bytes_per_s":1})", "perhaps it is upload_bytes_per_s"},
      {R"({"version":1,"version":1})", "duplicate key 'version'"},
      {R"([1])", "not a JSON object (p.json)"},
      {R"({"version":)", "not valid JSON (p.json)"},
  };
  for (const Row& row : rows) {
    const std::string error = ErrorOf(row.text);
    EXPECT_NE(error.find(row.named), std::string::npos) << row.text << "\n" << error;
    EXPECT_NE(error.find("p.json"), std::string::npos) << error;
  }
}

TEST(IoProfile, NamesAFileThatIsNotThere) {
  const auto profile = ReadIoProfile("/nonexistent/profile.json");
  ASSERT_FALSE(profile.has_value());
  EXPECT_EQ(profile.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(profile.error().message.find("/nonexistent/profile.json"), std::string::npos) << profile.error().message;
}

}  // namespace
}  // namespace tidemill::train
