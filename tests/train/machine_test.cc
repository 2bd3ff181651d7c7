#include "train/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tidemill::train {
namespace {

namespace fs = std::filesystem;

// A machine in a folder: what /proc and /sys would say.
class MachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    Put("/proc/meminfo", "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:  4000000 kB\n");
    Put("/proc/sys/kernel/osrelease", "6.1.0-test\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_ =
      ::testing::TempDir() + "machine_test_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MachineTest, CountsWhatTheKernelCallsAvailable) {
  const Machine machine = DescribeMachine(root_);
  EXPECT_EQ(machine.memory_total_bytes, 8'000'000ULL * 1024);
  EXPECT_EQ(machine.usable_memory_bytes(), 4'000'000ULL * 1024);
  EXPECT_FALSE(machine.container_left_bytes.has_value());
  EXPECT_EQ(machine.kernel, "6.1.0-test");
  EXPECT_FALSE(machine.wsl);
  EXPECT_GE(machine.cores_usable, 1);
}

TEST_F(MachineTest, TakesTheTightestLimitOfTheGroupsAroundIt) {
  Put("/proc/self/cgroup", "0::/a/b\n");
  Put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Put("/sys/fs/cgroup/a/memory.max", "1000000\n");
  Put("/sys/fs/cgroup/a/memory.current", "300000\n");
  Put("/sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(DescribeMachine(root_).container_left_bytes, 800'000U);  // cache can be given back
  Put("/sys/fs/cgroup/a/b/memory.max", "500000\n");
  Put("/sys/fs/cgroup/a/b/memory.current", "600000\n");
  EXPECT_EQ(DescribeMachine(root_).usable_memory_bytes(), 0U);
}

TEST_F(MachineTest, ReadsTheFirstGenerationOfLimitsToo) {
  Put("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/job\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000\n");
  Put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500000\n");
  EXPECT_EQ(DescribeMachine(root_).container_left_bytes, 1'500'000U);
}

TEST_F(MachineTest, KeepsBelowTheLimitOfItsAddressSpace) {
  Put("/proc/self/statm", "1000 10 10 1 0 10 0\n");
  Put("/proc/self/limits", "Limit   Soft Limit   Hard Limit   Units\nMax address space  unlimited  unlimited  bytes\n");
  EXPECT_FALSE(DescribeMachine(root_).address_space_left_bytes.has_value());
  Put("/proc/self/limits", "Max address space         1073741824           2147483648           bytes\n");
  const uint64_t left = 1'073'741'824 - 1000 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(DescribeMachine(root_).usable_memory_bytes(), left);
}

TEST_F(MachineTest, KeepsToTheQuotaOfCores) {
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(DescribeMachine(root_).cores_usable, 1);
  Put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_GE(DescribeMachine(root_).cores_usable, 1);
}

TEST_F(MachineTest, KnowsWindowsAndTheRightToLock) {
  Put("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
  Put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
  EXPECT_TRUE(DescribeMachine(root_).wsl);
  EXPECT_TRUE(DescribeMachine(root_).may_exceed_memlock);
  Put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
  EXPECT_FALSE(DescribeMachine(root_).may_exceed_memlock);
}

}  // namespace
}  // namespace tidemill::train
