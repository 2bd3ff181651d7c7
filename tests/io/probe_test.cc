#include "io/probe.h"

#include <gtest/gtest.h>
#include <sys/statfs.h>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

TEST(ProbeDirectory, ReportsTheFileSystemAndLeavesNothing) {
  const TestDirectory directory;
  const auto report = ProbeDirectory(directory.path() + "/.").value();
  EXPECT_EQ(report.path, std::filesystem::canonical(directory.path()));
  EXPECT_NE(report.file_system, "unknown");
  EXPECT_GT(report.free_bytes, 0U);
  EXPECT_GE(report.total_bytes, report.free_bytes);
  EXPECT_EQ(report.direct, report.direct_note.empty());
  EXPECT_GT(report.probe_seconds, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ProbeDirectory, KnowsMemoryFromADrive) {
  struct statfs info {};
  if (::statfs("/dev/shm", &info) != 0 || info.f_type != 0x01021994) GTEST_SKIP() << "no tmpfs at /dev/shm here";
  const auto report = ProbeDirectory("/dev/shm");
  if (!report) GTEST_SKIP() << report.error().message;
  EXPECT_EQ(report->file_system, "tmpfs");
  EXPECT_TRUE(report->in_memory);
  ASSERT_FALSE(report->Warnings().empty());
  EXPECT_NE(report->Warnings()[0].find("in memory"), std::string::npos);
}

TEST(ProbeDirectory, NamesADirectoryThatIsNotThere) {
  const auto report = ProbeDirectory("/nonexistent-folder");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(report.error().message.find("/nonexistent-folder"), std::string::npos);
}

TEST(DirectoryReport, WarnsOfNetworksAndHardDisks) {
  EXPECT_TRUE(DirectoryReport{}.Warnings().empty());
  EXPECT_EQ(DirectoryReport{.network = true}.Warnings().size(), 1U);
  EXPECT_EQ(DirectoryReport{.rotational = true}.Warnings().size(), 1U);
  EXPECT_TRUE(DirectoryReport{.rotational = false}.Warnings().empty());
  EXPECT_EQ(DirectoryReport{.direct_note = "O_DIRECT is refused"}.Warnings().size(), 1U);
}

TEST(ProbeEngines, AgreesWithOpening) {
  const MachineReport report = ProbeEngines();
  const EngineLimits limits{.depth = 1};
  EXPECT_EQ(report.io_uring_refusal.empty(), MakeEngine("io_uring", limits).has_value());
  EXPECT_EQ(report.libaio_refusal.empty(), MakeEngine("libaio", limits).has_value());
}

}  // namespace
}  // namespace tidemill::io
