// Compiled with -mavx2 -mfma -mf16c. Includes nothing but the bodies and the intrinsics: no std inline may leak.
#include <immintrin.h>

#include "cpu_adam/kernel_body.h"
#include "cpu_adam/mix_body.h"
#include "cpu_adam/sum_body.h"

namespace tidemill::cpu_adam {
namespace {

struct Avx2Simd {
  static constexpr size_t kLanes = 8, kDoubles = 4;
  using V = __m256;
  using U = __m256i;
  using D = __m256d;

  static V Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, V x) { _mm256_storeu_ps(p, x); }
  static void StoreF16(uint16_t* p, V x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static V Set(float x) { return _mm256_set1_ps(x); }
  static V Add(V a, V b) { return _mm256_add_ps(a, b); }
  static V Sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V Mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V Div(V a, V b) { return _mm256_div_ps(a, b); }
  static V Fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V Sqrt(V a) { return _mm256_sqrt_ps(a); }

  static U SetU(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static U Iota() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static U AddU(U a, U b) { return _mm256_add_epi32(a, b); }
  static U SubU(U a, U b) { return _mm256_sub_epi32(a, b); }
  static U MulU(U a, U b) { return _mm256_mullo_epi32(a, b); }
  static U And(U a, U b) { return _mm256_and_si256(a, b); }
  static U Or(U a, U b) { return _mm256_or_si256(a, b); }
  static U Xor(U a, U b) { return _mm256_xor_si256(a, b); }
  template <int kBits>
  static U ShiftLeft(U a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return _mm256_srli_epi32(a, kBits);
  }
  static U MinU(U a, U b) { return _mm256_min_epu32(a, b); }
  static U MaxU(U a, U b) { return _mm256_max_epu32(a, b); }
  static U SelectLess(U a, U b, U yes, U no) { return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(b, a)); }
  static bool AllAtLeast(U a, U b) { return _mm256_movemask_epi8(_mm256_cmpgt_epi32(b, a)) == 0; }
  static U LoadU(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static U LoadU8(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static U LoadU16(const uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static __m128i Narrow(U x) { return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)); }
  static void StoreU(uint32_t* p, U x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static void StoreU8(uint8_t* p, U x) {
    const __m128i words = Narrow(x);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  static void StoreU16(uint16_t* p, U x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), Narrow(x)); }
  static uint32_t LargestLane(U x) {
    uint32_t lanes[kLanes], largest = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), x);
    for (const uint32_t lane : lanes) largest = lane > largest ? lane : largest;
    return largest;
  }

  static U Bits(V x) { return _mm256_castps_si256(x); }
  static V Float(U x) { return _mm256_castsi256_ps(x); }

  static D ZeroD() { return _mm256_setzero_pd(); }
  static void Widen(V x, D* out) {
    out[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    out[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  }
  static D AddSquare(D sum, D x) { return _mm256_fmadd_pd(x, x, sum); }
  static void StoreD(double* p, D x) { _mm256_storeu_pd(p, x); }
};

}  // namespace

uint32_t StepAvx2(const AdamCoefficients& k, const Slice& slice) { return Step<Avx2Simd>(k, slice); }
void SumChunksAvx2(GradForm form, const void* grad, size_t count, double* sums) {
  SumChunks<Avx2Simd>(form, grad, count, sums);
}
void MixAvx2(const Slice& slice, bool prefetch, float scale, float grad_scale) {
  Mix<Avx2Simd>(slice, prefetch, scale, grad_scale);
}

}  // namespace tidemill::cpu_adam
