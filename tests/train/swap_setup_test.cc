// What a profile changes of a run: how its swap directories are used, and never a bit of its result.
#include "train/swap_setup.h"

#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"
#include "train/swap_preflight.h"

namespace tidemill::train {
namespace {

TierOptions Tiers(const std::string& profile, std::vector<std::string> swap_dirs = {"/one", "/two"}) {
  TierOptions tiers;
  tiers.swap_dirs = std::move(swap_dirs);
  auto parsed = ParseIoProfile(profile, "p.json");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  if (parsed.has_value()) tiers.io_profile = std::move(*parsed);
  return tiers;
}

constexpr const char* kTuned = R"({"version":1,"swap_dirs":[
  {"path":"/one","engine":"posix","bs_bytes":262144,"iodepth":8,"numjobs":2,"read_bytes_per_s":3e9,
   "write_bytes_per_s":1e9,"mixed":{"read_bytes_per_s":1e9,"write_bytes_per_s":5e8}},
  {"path":"/two","engine":"posix","bs_bytes":262144,"iodepth":8,"numjobs":2,"read_bytes_per_s":6e9,
   "write_bytes_per_s":2e9,"mixed":{"read_bytes_per_s":2e9,"write_bytes_per_s":1e9}},
  {"path":"/unused"}]})";

TEST(MakeSwapConfig, TakesEnginePointAndSpeedsFromTheProfile) {
  std::vector<std::string> notes;
  const auto config = MakeSwapConfig(Tiers(kTuned), "run", notes);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->engine, io::EngineChoice::kPosix);
  EXPECT_EQ(config->block_bytes, 262144U);
  EXPECT_EQ(config->depth, 8U * 2 * 2);  // blocks, jobs, directories
  ASSERT_EQ(config->speeds.size(), 2U);
  EXPECT_EQ(config->speeds[0].read_bytes_per_s, 3e9);
  EXPECT_EQ(config->speeds[1].write_bytes_per_s, 2e9);
  EXPECT_EQ(config->identity, "run");
  EXPECT_TRUE(notes.empty());
}

TEST(MakeSwapConfig, AFlagWinsOverTheProfilesEngine) {
  TierOptions tiers = Tiers(kTuned);
  tiers.io_engine = "libaio";
  std::vector<std::string> notes;
  EXPECT_EQ(MakeSwapConfig(tiers, "run", notes)->engine, io::EngineChoice::kLibaio);
}

TEST(MakeSwapConfig, KeepsTheDefaultsWhereTheProfileIsSilent) {
  std::vector<std::string> notes;
  const auto config = MakeSwapConfig(Tiers(R"({"version":1,"swap_dirs":[{"path":"/one"}]})", {"/one"}), "run", notes);
  const offload::SwapConfig defaults;
  EXPECT_EQ(config->engine, defaults.engine);
  EXPECT_EQ(config->block_bytes, defaults.block_bytes);
  EXPECT_EQ(config->depth, defaults.depth);
  EXPECT_EQ(config->speeds[0].read_bytes_per_s, 0);  // not known: measured
}

TEST(MakeSwapConfig, HasALimitForEveryDepth) {
  std::vector<std::string> notes;
  const auto config = MakeSwapConfig(
      Tiers(R"({"version":1,"swap_dirs":[{"path":"/one","iodepth":65536,"numjobs":65536}]})", {"/one"}), "run", notes);
  EXPECT_EQ(config->depth, 1024U);
}

TEST(ProfileSwapRates, AddUpWhatTheRunsDirectoriesMoveTogether) {
  const SwapRates both = ProfileSwapRates(Tiers(kTuned));
  EXPECT_EQ(both.read_bytes_per_s, 3e9);
  EXPECT_EQ(both.write_bytes_per_s, 1.5e9);
  EXPECT_EQ(ProfileSwapRates(Tiers(kTuned, {"/two"})).read_bytes_per_s, 2e9);
  EXPECT_FALSE(ProfileSwapRates(Tiers(kTuned, {"/two", "/unused"})).read_bytes_per_s.has_value());
  EXPECT_FALSE(ProfileSwapRates(Tiers(kTuned, {})).read_bytes_per_s.has_value());
}

class ProfiledRun : public testing::Test {
 protected:
  void SetUp() override { run_.WriteModel(TinyModel()); }
  // A profile of the run's own directory.
  std::string Profile(const std::string& figures) const {
    const std::string path = run_.work() + "/profile.json";
    TinyRun::Write(path, R"({"version":1,"swap_dirs":[{"path":")" + run_.swap() + "\"" + figures + "}]}");
    return path;
  }
  TinyRun run_;
};

TEST_F(ProfiledRun, HasTheBitsOfARunWithout) {
  const RunResult plain = run_.Train(run_.Everywhere("nvme"));
  ASSERT_TRUE(plain.status.has_value()) << plain.status.error().message;
  const std::string path = Profile(R"(,"engine":"posix","bs_bytes":4096,"iodepth":3,"numjobs":1)");
  const RunResult profiled = run_.Train(run_.Everywhere("nvme") + Flags{{"io-profile", path}});
  ASSERT_TRUE(profiled.status.has_value()) << profiled.status.error().message;
  EXPECT_EQ(profiled.weights, plain.weights);
  EXPECT_EQ(Loss(profiled), Loss(plain));
}

TEST_F(ProfiledRun, PlansWithMeasuredAndAssumedRates) {
  const std::string path = Profile(R"(,"mixed":{"read_bytes_per_s":2000000000,"write_bytes_per_s":1000000000})");
  const auto report = run_.Plan(run_.Everywhere("nvme") +
                                Flags{{"io-profile", path}, {"device", "host:mem=64MiB,pcie=4GB/s,nvme-write=1MB/s"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lanes[3].bytes_per_s, 2e9);
  EXPECT_TRUE(report->lanes[3].measured);
  EXPECT_EQ(report->lanes[4].bytes_per_s, 1e6);  // the flag's throttle is slower than the drive
  EXPECT_FALSE(report->lanes[4].measured);
  EXPECT_EQ(report->lanes[1].bytes_per_s, 4e9);
  EXPECT_FALSE(report->lanes[1].measured);
  const auto json = nlohmann::json::parse(FormatPlanJson(*report));
  EXPECT_EQ(json["lanes"]["nvme_read"]["rate"], "measured");
  EXPECT_EQ(json["lanes"]["upload"]["rate"], "assumed");
  EXPECT_TRUE(json["lanes"]["adam"]["rate"].is_null());
  EXPECT_NE(FormatPlan(*report).find("at 2 GB/s, measured"), std::string::npos) << FormatPlan(*report);
  EXPECT_NE(FormatPlan(*report).find("at 0.001 GB/s, assumed"), std::string::npos) << FormatPlan(*report);
}

TEST_F(ProfiledRun, NamesADirectoryThatWasNotTuned) {
  const std::string path = Profile("");
  const auto plan = run_.Plan({{"swap-dir", run_.work()}, {"io-profile", path}});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(plan.error().message.find("$.swap_dirs has no path '" + run_.work() + "'"), std::string::npos)
      << plan.error().message;
  EXPECT_NE(plan.error().message.find("it has " + run_.swap()), std::string::npos) << plan.error().message;
  const auto missing = run_.Plan({{"io-profile", "/nonexistent/p.json"}});
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("/nonexistent/p.json"), std::string::npos);
}

TEST(SwapWarnings, AreALineForEverySlowDirectory) {
  io::DirectoryReport fine, hard_disk, network, memory, buffered;
  fine.path = "/fine";
  fine.rotational = false;
  hard_disk.path = "/disk";
  hard_disk.rotational = true;
  network.path = "/net";
  network.file_system = "nfs4";
  network.network = true;
  memory.path = "/mem";
  memory.in_memory = true;
  buffered.path = "/buffered";
  buffered.direct_note = "O_DIRECT is refused";
  EXPECT_TRUE(SwapWarnings({&fine, 1}).empty());
  EXPECT_TRUE(SwapWarnings({&buffered, 1}).empty());  // the swap file says it
  const std::vector<io::DirectoryReport> all{fine, hard_disk, network, memory, buffered};
  const auto lines = SwapWarnings(all);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("warning: /disk is on a drive that calls itself rotational")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("warning: /net is on a network file system (nfs4)")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("warning: /mem is in memory")) << lines[2];
}

TEST(CheckSwapDirectories, NamesADirectoryThatIsNotThere) {
  const std::vector<std::string> directories{"/nonexistent-folder"};
  const auto lines = CheckSwapDirectories(directories);
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(lines.error().message.find("/nonexistent-folder"), std::string::npos) << lines.error().message;
}

}  // namespace
}  // namespace tidemill::train
