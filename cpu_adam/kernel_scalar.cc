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
  static void StoreF16(uint16_t* p, V x) { *p = RoundToF16Even(x); }
  static V Set(float x) { return x; }
  static V Add(V a, V b) { return a + b; }
  static V Sub(V a, V b) { return a - b; }
  static V Mul(V a, V b) { return a * b; }
  static V Div(V a, V b) { return a / b; }
  static V Fma(V a, V b, V c) { return std::fma(a, b, c); }
  static V Sqrt(V a) { return std::sqrt(a); }

  static U SetU(uint32_t x) { return x; }
  static U Iota() { return 0; }
  static U AddU(U a, U b) { return a + b; }
  static U SubU(U a, U b) { return a - b; }
  static U MulU(U a, U b) { return a * b; }
  static U And(U a, U b) { return a & b; }
  static U Or(U a, U b) { return a | b; }
  static U Xor(U a, U b) { return a ^ b; }
  template <int kBits>
  static U ShiftLeft(U a) {
    return a << kBits;
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return a >> kBits;
  }
  static U MinU(U a, U b) { return a < b ? a : b; }
  static U MaxU(U a, U b) { return a < b ? b : a; }
  static U SelectLess(U a, U b, U yes, U no) { return a < b ? yes : no; }
  static bool AllAtLeast(U a, U b) { return a >= b; }
  static U LoadU(const uint32_t* p) { return *p; }
  static U LoadU8(const uint8_t* p) { return *p; }
  static U LoadU16(const uint16_t* p) { return *p; }
  static void StoreU(uint32_t* p, U x) { *p = x; }
  static void StoreU8(uint8_t* p, U x) { *p = static_cast<uint8_t>(x); }
  static void StoreU16(uint16_t* p, U x) { *p = static_cast<uint16_t>(x); }
  static uint32_t LargestLane(U x) { return x; }

  static U Bits(V x) { return std::bit_cast<uint32_t>(x); }
  static V Float(U x) { return std::bit_cast<float>(x); }

  static D ZeroD() { return 0; }
  static void Widen(V x, D* out) { *out = x; }
  static D AddSquare(D sum, D x) { return sum + x * x; }
  static void StoreD(double* p, D x) { *p = x; }
};

}  // namespace

uint32_t StepScalar(const AdamCoefficients& k, const Slice& slice) { return Step<ScalarSimd>(k, slice); }
void SumChunksScalar(GradForm form, const void* grad, size_t count, double* sums) {
  SumChunks<ScalarSimd>(form, grad, count, sums);
}
void MixScalar(const Slice& slice, bool prefetch, float scale, float grad_scale) {
  Mix<ScalarSimd>(slice, prefetch, scale, grad_scale);
}

void EncodeScalar(const float* exp_avg, const float* exp_avg_sq, const Slice& to) {
  Encode<ScalarSimd>(exp_avg, exp_avg_sq, to);
}
void DecodeScalar(const Slice& from, float* exp_avg, float* exp_avg_sq) {
  Decode<ScalarSimd>(from, exp_avg, exp_avg_sq);
}

}  // namespace tidemill::cpu_adam
