// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4): the checksum of every swap extent.
//
// Crc32c("123456789") is 0xe3069283. Longer data in parts: Crc32c(second, Crc32c(first)) is that of first + second.
//   Threads   any.
//   Limits    none on the size. Sees every single-bit error, every burst up to 32 bits; misses 1 in 2^32 of the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tidemill::io {

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace tidemill::io
