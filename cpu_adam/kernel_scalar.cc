// The witness: one lane, plain C++, compiled for the baseline. What the other files must agree with, bit for bit.
#include <cmath>

#include "base/dtype.h"
#include "cpu_adam/convert.h"
#include "cpu_adam/convert_body.h"
#include "cpu_adam/kernel_body.h"
#include "cpu_adam/mix_body.h"
#include "cpu_adam/sum_body.h"

namespace tidemill::cpu_adam {
namespace {

struct ScalarSimd {
  static constexpr size_t kLanes = 1, kDoubles = 1;
  using V = float;
  using U = uint32_t;
  using D = double;

  static V Load(const float* p) { return *p; }
  static void Store(float* p, V x) { *p = x; }
  static void LoadPairs(const float* p, V& even, V& odd) {
    even = p[0];
    odd = p[1];
  }
  static void StorePairs(float* p, V even, V odd) {
    p[0] = even;
    p[1] = odd;
  }
  static V Set(float x) { return x; }
  static V Mul(V a, V b) { return a * b; }
  static V Div(V a, V b) { return a / b; }
  static V Fma(V a, V b, V c) { return std::fma(a, b, c); }
  static V Sqrt(V a) { return std::sqrt(a); }
  static V Max(V a, V b) { return a > b ? a : b; }
  static V Min(V a, V b) { return a < b ? a : b; }

  static U SetU(uint32_t x) { return x; }
  static U Iota() { return 0; }
  static U AddU(U a, U b) { return a + b; }
  static U SubU(U a, U b) { return a - b; }
  static U SubHalves(U a, U b) { return ((a - (b & 0xffff0000)) & 0xffff0000) | ((a - b) & 0xffff); }
  static U MulU(U a, U b) { return a * b; }
  static U And(U a, U b) { return a & b; }
  static U Or(U a, U b) { return a | b; }
  static U JoinHalves(U upper, U lower) { return (upper & 0xffff0000) | (lower & 0xffff); }
  static U Xor(U a, U b) { return a ^ b; }
  template <int kBits>
  static U ShiftLeft(U a) {
    return a << kBits;
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return a >> kBits;
  }
  static U MaxU(U a, U b) { return a < b ? b : a; }
  static U LoadU(const uint32_t* p) { return *p; }
  static U LoadU16(const uint16_t* p) { return *p; }
  static void StoreU(uint32_t* p, U x) { *p = x; }
  static void StoreU16(uint16_t* p, U x) { *p = static_cast<uint16_t>(x); }
  static U LoadWords(const uint16_t* p) { return p[0] | static_cast<U>(p[1]) << 16; }
  static void StoreWords(uint16_t* p, U x) {
    p[0] = static_cast<uint16_t>(x);
    p[1] = static_cast<uint16_t>(x >> 16);
  }
  static void StoreBytes(uint8_t* p, U x) {
    p[0] = static_cast<uint8_t>(x);
    p[1] = static_cast<uint8_t>(x >> 16);
  }
  static U F16Bits(V x) { return RoundToF16Even(x); }
  static void LoadCodes(const uint8_t* p, V& even, V& odd) {
    even = F16ToFloat(static_cast<uint16_t>(p[0] << 7));
    odd = F16ToFloat(static_cast<uint16_t>(p[1] << 7));
  }
  static void LoadSignedCodes(const uint8_t* p, V& even, V& odd) {
    even = F16ToFloat(static_cast<uint16_t>((p[0] & 0x80) << 8 | (p[0] & 0x7f) << 7));
    odd = F16ToFloat(static_cast<uint16_t>((p[1] & 0x80) << 8 | (p[1] & 0x7f) << 7));
  }
  static uint32_t LargestLane(U x) { return x; }

  static U Bits(V x) { return std::bit_cast<uint32_t>(x); }
  static V Float(U x) { return std::bit_cast<float>(x); }

  static D ZeroD() { return 0; }
  static void Widen(V x, D* out) { *out = x; }
  static D AddSquare(D sum, D x) { return sum + x * x; }
  static void StoreD(double* p, D x) { *p = x; }
};

}  // namespace

const Kernels kScalarKernels{Step<ScalarSimd>, SumChunks<InOrder<ScalarSimd>>, Mix<ScalarSimd>};

void EncodeScalar(const float* exp_avg, const float* exp_avg_sq, const Slice& to) {
  Encode<Pairs<ScalarSimd>>(exp_avg, exp_avg_sq, to);
}
void DecodeScalar(const Slice& from, float* exp_avg, float* exp_avg_sq) {
  Decode<Pairs<ScalarSimd>>(from, exp_avg, exp_avg_sq);
}

}  // namespace tidemill::cpu_adam
