#include "tools/bench_io_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tidemill::tools {
namespace {

BenchIoRow Row() {
  BenchIoRow row;
  row.point = {.mix = io::BenchMix::kWrite, .block_bytes = 1 << 20, .depth = 8, .jobs = 2};
  row.result.engine = "io_uring";
  row.result.gb_per_s = 1.5;
  row.result.deviation_gb_per_s = 0.1;
  row.result.p50_us = 10;
  row.result.direct = true;
  row.result.moved_bytes = 1'500'000'000;
  row.result.reached_drive_fraction = 1;
  row.result.slices_gb_per_s = std::vector<double>(20, 1.5);
  row.paths = {"/a/tidemill-bench.bin"};
  row.runtime_seconds = 5;
  return row;
}

TEST(BenchIoReport, HasTheInterfacesKeys) {
  const BenchIoRow row = Row();
  const auto json = nlohmann::json::parse(BenchIoJson({&row, 1}));
  ASSERT_EQ(json["results"].size(), 1U);
  const auto& result = json["results"][0];
  EXPECT_EQ(result["engine"], "io_uring");
  EXPECT_EQ(result["rw"], "write");
  EXPECT_EQ(result["bs_bytes"], 1 << 20);
  EXPECT_EQ(result["iodepth"], 8);
  EXPECT_EQ(result["numjobs"], 2);
  EXPECT_EQ(result["gb_per_s"], 1.5);
  EXPECT_EQ(result["deviation"], 0.1);
  EXPECT_EQ(result["direct"], true);
  EXPECT_EQ(result["file"], "/a/tidemill-bench.bin");
  EXPECT_EQ(result["bytes_moved"], 1'500'000'000);
  EXPECT_EQ(result["drive_fraction"], 1);
  EXPECT_TRUE(result.contains("cpu_percent") && result.contains("pattern"));
  for (const char* key : {"mean", "p50", "p99", "p999"}) EXPECT_TRUE(result["latency_us"].contains(key)) << key;
}

TEST(BenchIoReport, SaysWhichDirectoriesARowIsOf) {
  BenchIoRow row = Row();
  row.paths.emplace_back("/b/tidemill-bench.bin");
  const auto json = nlohmann::json::parse(BenchIoJson({&row, 1}));
  EXPECT_EQ(json["results"][0]["directories"], 2);
  EXPECT_EQ(json["results"][0]["file"], "/a/tidemill-bench.bin,/b/tidemill-bench.bin");
}

TEST(BenchIoReport, ShowsAWriteCacheThatFillsUp) {
  BenchIoRow row = Row();
  EXPECT_EQ(BenchIoLine(row).find("every"), std::string::npos);
  EXPECT_TRUE(RemarksAbout(row).empty());
  row.runtime_seconds = 60;
  EXPECT_NE(BenchIoLine(row).find("every 3 s: 1.5 1.5"), std::string::npos) << BenchIoLine(row);
  EXPECT_TRUE(RemarksAbout(row).empty());
  for (size_t i = 10; i < 20; ++i) row.result.slices_gb_per_s[i] = 0.4;
  const auto remarks = RemarksAbout(row);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_EQ(remarks[0], "slowed from 1.5 to 0.4 GB/s within the run: a write cache filled up");
  row.point.mix = io::BenchMix::kRead;
  EXPECT_TRUE(RemarksAbout(row).empty());
}

TEST(BenchIoReport, FlagsWhatIsNotTheDrivesSpeed) {
  BenchIoRow row = Row();
  row.result.direct = false;
  row.result.reached_drive_fraction = 0;
  ASSERT_EQ(RemarksAbout(row).size(), 1U);
  EXPECT_NE(RemarksAbout(row)[0].find("through the page cache"), std::string::npos);
  EXPECT_NE(BenchIoLine(row).find(" NO\n"), std::string::npos);
  row.result.direct = true;
  row.result.reached_drive_fraction = 0.5;
  ASSERT_EQ(RemarksAbout(row).size(), 1U);
  EXPECT_NE(RemarksAbout(row)[0].find("only 50 % of the bytes reached a drive"), std::string::npos);
  row.result.reached_drive_fraction = -1;  // the kernel does not count
  EXPECT_TRUE(RemarksAbout(row).empty());
}

}  // namespace
}  // namespace tidemill::tools
