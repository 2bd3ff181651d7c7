#include "tools/tune_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tidemill::tools {
namespace {

// One drive that swaps 2 + 2 GB/s at the default point; another point was as fast within noise.
io::TuneResult Tuned() {
  io::TuneResult tuned;
  tuned.candidates = io::TuneCandidates({io::EngineChoice::kIoUring, io::EngineChoice::kPosix}, true);
  tuned.search.finalists = {{0, {4e9, 4.1e9, 3.9e9}}, {5, {4.1e9, 4e9, 3.8e9}}};
  tuned.search.measured = tuned.candidates.size();
  tuned.point = tuned.candidates[0];
  tuned.engine = "io_uring";
  io::DirectoryRates rates;
  rates.path = "/mnt/fast";
  rates.read_bytes_per_s = 6e9;
  rates.written_bytes_per_s = 5e9;
  rates.alone = rates.together = {2e9, 2e9};
  rates.block_latency_us = 150.25;
  tuned.directories = {rates};
  tuned.swap = {4e9, 4.1e9, 3.9e9};
  tuned.saturated = {4e9, 4e9, 4e9};
  tuned.free_bytes = uint64_t{1} << 40;
  return tuned;
}

HostRates Host() {
  HostRates host;
  host.host = "mill";
  host.measured_at = "2026-01-31T12:00:00Z";
  host.cores = 8;
  host.dram_bytes_per_s = 50e9;
  host.adam = {{"fp32", 1.0}, {"int8", 0.5}};
  host.compute = {{"forward", 1e12}};
  return host;
}

bool Says(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

TEST(TuneReport, WritesAProfileThatReadsBackAsTheSameBytes) {
  const train::IoProfile profile = MakeProfile(Tuned(), Host());
  const std::string text = FormatIoProfile(profile);
  const auto read = train::ParseIoProfile(text, "p.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(FormatIoProfile(*read), text);
  ASSERT_EQ(read->swap_dirs.size(), 1U);
  EXPECT_EQ(read->swap_dirs[0].path, "/mnt/fast");
  EXPECT_EQ(read->swap_dirs[0].engine, "io_uring");
  EXPECT_EQ(read->swap_dirs[0].read_bytes_per_s, 6e9);
  EXPECT_EQ(read->swap_dirs[0].mixed_write_bytes_per_s, 2e9);
  EXPECT_EQ(read->adam, Host().adam);
}

TEST(TuneReport, AProfileHasNoRateThatWasNotMeasured) {
  io::TuneResult tuned = Tuned();
  io::DirectoryRates& rates = tuned.directories.front();
  rates.read_bytes_per_s = rates.block_latency_us = rates.together.written_bytes_per_s = 0;
  const std::string text = FormatIoProfile(MakeProfile(tuned, Host()));
  const auto read = train::ParseIoProfile(text, "a.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_FALSE(read->swap_dirs.front().read_bytes_per_s.has_value());
  EXPECT_FALSE(read->swap_dirs.front().latency_us.has_value());
  EXPECT_FALSE(read->swap_dirs.front().mixed_write_bytes_per_s.has_value());
  EXPECT_TRUE(read->swap_dirs.front().write_bytes_per_s.has_value());
}

TEST(TuneReport, LeavesOutWhatWasNotMeasured) {
  HostRates host;
  host.cores = 1;
  const auto json = nlohmann::json::parse(FormatIoProfile(MakeProfile(Tuned(), host)));
  for (const char* key :
       {"upload_bytes_per_s", "download_bytes_per_s", "duplex_bytes_per_s", "dram_bytes_per_s", "adam", "compute"})
    EXPECT_FALSE(json.contains(key)) << key;
}

TEST(TuneReport, PrintsTheKeysThatDeepSpeedReads) {
  const io::BenchPoint point{io::EngineChoice::kLibaio, io::BenchMix::kSwap, 4 << 20, 16, 2};
  EXPECT_EQ(DeepSpeedAio(point),
            R"({"aio":{"block_size":4194304,"queue_depth":16,"intra_op_parallelism":2,"single_submit":false,)"
            R"("overlap_events":true}})");
}

TEST(TuneReport, SaysThatNoDifferenceIsAboveNoise) {
  EXPECT_NE(ChoiceSentence(Tuned()).find("best point: the default, io_uring"), std::string::npos);
  EXPECT_TRUE(ChoiceSentence(Tuned()).ends_with("no difference above noise"));
}

TEST(TuneReport, SaysByHowMuchTheBestPointIsBetter) {
  io::TuneResult tuned = Tuned();
  tuned.search.finalists = {{5, {5e9, 5e9, 5e9}}, {0, {4e9, 4e9, 4e9}}};
  tuned.search.reference = 1;
  tuned.search.above_noise = true;
  EXPECT_TRUE(ChoiceSentence(tuned).ends_with("25 % above the default, in every one of 3 turns"))
      << ChoiceSentence(tuned);
}

TEST(TuneReport, JudgesWhetherTheDriveOrTheQueueIsTheLimit) {
  io::TuneResult tuned = Tuned();
  EXPECT_TRUE(Says(Verdict(tuned, {}), "the drive is the limit"));
  tuned.saturated = {6e9, 7e9, 6.5e9};
  EXPECT_TRUE(Says(Verdict(tuned, {}), "the queue is the limit: the drive moves 1.67 times as much"));
  tuned.saturated = {3e9, 7e9, 6.5e9};
  EXPECT_TRUE(Says(Verdict(tuned, {}), "no difference above noise"));
}

TEST(TuneReport, ComparesWithTheLinkOnlyWhereItIsKnown) {
  train::IoProfile profile;
  EXPECT_FALSE(Says(Verdict(Tuned(), profile), "link"));
  profile.upload_bytes_per_s = 20e9;
  EXPECT_TRUE(Says(Verdict(Tuned(), profile), "the drives feed 10 % of the link to the device (20 GB/s)"));
  profile.upload_bytes_per_s = 1e9;
  EXPECT_TRUE(Says(Verdict(Tuned(), profile), "the link to the device is slower than the drives"));
}

TEST(TuneReport, SaysWhatSizeOfModelIsComfortable) {
  // 2 GB/s each way: 12 bytes a parameter take 6 s for a billion.
  EXPECT_TRUE(Says(Verdict(Tuned(), {}), "6 s for each billion"));
  EXPECT_TRUE(Says(Verdict(Tuned(), {}), "comfortable up to 5 billion parameters: moving all state takes 30 s"));
  io::TuneResult small = Tuned();
  small.free_bytes = 24'000'000'000;
  EXPECT_TRUE(Says(Verdict(small, {}), "comfortable up to 1 billion parameters: more does not fit the free space"));
  train::IoProfile profile;
  profile.adam = {{"fp32", 1.0}};
  EXPECT_TRUE(Says(Verdict(Tuned(), profile), "6 ns on the drives and 1 ns on the CPU: the drives bound it"));
  profile.adam = {{"fp32", 9.0}};
  EXPECT_TRUE(Says(Verdict(Tuned(), profile), "the CPU bounds it"));
}

TEST(TuneReport, IsOneJsonObject) {
  const auto json = nlohmann::json::parse(TuneJson(Tuned(), MakeProfile(Tuned(), Host())));
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["results"][0]["bs_bytes"], 1 << 20);
  EXPECT_EQ(json["results"][0]["gb_per_s"], 4.0);
  EXPECT_EQ(json["above_noise"], false);
  EXPECT_EQ(json["profile"]["version"], 1);
  EXPECT_EQ(json["deepspeed"]["aio"]["queue_depth"], 32);
  EXPECT_FALSE(json["verdict"].empty());
}

}  // namespace
}  // namespace tidemill::tools
