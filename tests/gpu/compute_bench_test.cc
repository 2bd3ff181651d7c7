#include "gpu/compute_bench.h"

#include <gtest/gtest.h>

#include "gpu/host_device.h"

namespace tidemill::gpu {
namespace {

TEST(ComputeBench, GivesThreeRatesPerShapeThatKeepToAThrottle) {
  const auto device = MakeHostDevice(ParseDeviceSpec("host:flops=1e9").value(), 2).value();
  const std::vector<ProductShape> shapes{{64, 48, 80}, {32, 80, 16}};
  const auto rates = MeasureProducts(*device, shapes, DType::kBf16, 3).value();
  ASSERT_EQ(rates.size(), 6U);
  EXPECT_EQ(rates[3].operation, "forward");
  EXPECT_EQ(rates[5].operation, "backward_weights");
  EXPECT_EQ(rates[4].shape.in, 80);
  for (const ProductRate& rate : rates) {
    EXPECT_GT(rate.flops_per_s, 0);
    EXPECT_LE(rate.flops_per_s, 1e9);
  }
}

TEST(ComputeBench, SaysWhenTheDeviceIsTooSmall) {
  const auto device = MakeHostDevice(ParseDeviceSpec("host:mem=1MiB").value(), 1).value();
  const auto rates = MeasureProducts(*device, std::vector<ProductShape>{{4096, 4096, 4096}}, DType::kF32, 1);
  ASSERT_FALSE(rates.has_value());
  EXPECT_EQ(rates.error().code, ErrorCode::kDoesNotFit);
}

}  // namespace
}  // namespace tidemill::gpu
