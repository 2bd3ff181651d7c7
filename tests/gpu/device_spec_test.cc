#include "gpu/device_spec.h"

#include <gtest/gtest.h>

#include "base/byte_size.h"
#include "gpu/communicator.h"

namespace tidemill::gpu {
namespace {

std::string MessageOf(const char* text) {
  const auto spec = ParseDeviceSpec(text);
  return spec.has_value() ? "no error" : spec.error().message;
}

TEST(DeviceSpec, AutoAndCpuAreTheHostWithoutThrottles) {
  for (const char* text : {"auto", "cpu"}) {
    const DeviceSpec spec = ParseDeviceSpec(text).value();
    EXPECT_EQ(spec.memory_bytes, 0U);
    EXPECT_EQ(spec.pcie_bytes_per_s, 0);
    EXPECT_EQ(spec.flops_per_s, 0);
  }
}

TEST(DeviceSpec, TakesEveryKeyOfAHost) {
  const DeviceSpec spec =
      ParseDeviceSpec("host:mem=2GiB,pcie=2GB/s,flops=50e9,nvme-read=500MB/s,nvme-write=400MB/s").value();
  EXPECT_EQ(spec.memory_bytes, 2 * kGiB);
  EXPECT_DOUBLE_EQ(spec.pcie_bytes_per_s, 2e9);
  EXPECT_DOUBLE_EQ(spec.flops_per_s, 50e9);
  EXPECT_DOUBLE_EQ(spec.nvme_read_bytes_per_s, 5e8);
  EXPECT_DOUBLE_EQ(spec.nvme_write_bytes_per_s, 4e8);
}

TEST(DeviceSpec, NamesTheKeyThatIsWrong) {
  for (const auto& [text, key] : {std::pair{"host:mem=2XB", "mem"},
                                  {"host:mem=0", "mem"},
                                  {"host:mem=2GiB,pcie=fast", "pcie"},
                                  {"host:flops=-1", "flops"},
                                  {"host:flops=50e9x", "flops"},
                                  {"host:flops=inf", "flops"},
                                  {"host:nvme-read=0", "nvme-read"},
                                  {"host:nvme_speed=1GB", "'nvme-speed' is not known"},
                                  {"host:mem", "'mem' has no value"},
                                  {"host:mem=1GiB,", "has no value"},
                                  {"host:mem=1GiB,mem=2GiB", "mem: is given twice"},
                                  {"gpu", "'gpu' is not a device"},
                                  {"", "is not a device"}})
    EXPECT_NE(MessageOf(text).find(key), std::string::npos) << text << ": " << MessageOf(text);
}

TEST(DeviceSpec, RefusesCudaByName) {
  for (const char* text : {"cuda", "cuda:1"}) {
    const auto spec = ParseDeviceSpec(text);
    ASSERT_FALSE(spec.has_value());
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(spec.error().message.find(std::string(text) + " is not available in this build"), std::string::npos);
  }
}

TEST(WorldOfOne, AddsNothing) {
  const auto world = WorldOfOne();
  std::vector<double> values{1.5, -2};
  ASSERT_TRUE(world->AllReduceSum(values).has_value());
  EXPECT_EQ(values, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(world->rank(), 0);
  EXPECT_EQ(world->size(), 1);
}

}  // namespace
}  // namespace tidemill::gpu
