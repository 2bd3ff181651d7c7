// Compiled with -mavx512f. Includes nothing but the bodies and the intrinsics: no std inline may leak.
#include <immintrin.h>

#include "cpu_adam/kernel_body.h"
#include "cpu_adam/mix_body.h"
#include "cpu_adam/sum_body.h"

namespace tidemill::cpu_adam {
namespace {

struct Avx512Simd {
  static constexpr size_t kLanes = 16, kDoubles = 8;
  using V = __m512;
  using U = __m512i;
  using D = __m512d;

  static V Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, V x) { _mm512_storeu_ps(p, x); }
  static void StoreF16(uint16_t* p, V x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static V Set(float x) { return _mm512_set1_ps(x); }
  static V Add(V a, V b) { return _mm512_add_ps(a, b); }
  static V Sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V Div(V a, V b) { return _mm512_div_ps(a, b); }
  static V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V Sqrt(V a) { return _mm512_sqrt_ps(a); }

  static U SetU(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static U Iota() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  static U AddU(U a, U b) { return _mm512_add_epi32(a, b); }
  static U SubU(U a, U b) { return _mm512_sub_epi32(a, b); }
  static U MulU(U a, U b) { return _mm512_mullo_epi32(a, b); }
  static U And(U a, U b) { return _mm512_and_si512(a, b); }
  static U Or(U a, U b) { return _mm512_or_si512(a, b); }
  static U Xor(U a, U b) { return _mm512_xor_si512(a, b); }
  template <int kBits>
  static U ShiftLeft(U a) {
    return _mm512_slli_epi32(a, kBits);
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return _mm512_srli_epi32(a, kBits);
  }
  static U MinU(U a, U b) { return _mm512_min_epu32(a, b); }
  static U MaxU(U a, U b) { return _mm512_max_epu32(a, b); }
  static U SelectLess(U a, U b, U yes, U no) { return _mm512_mask_blend_epi32(_mm512_cmplt_epu32_mask(a, b), no, yes); }
  static bool AllAtLeast(U a, U b) { return _mm512_cmplt_epu32_mask(a, b) == 0; }
  static U LoadU(const uint32_t* p) { return _mm512_loadu_si512(p); }
  static U LoadU8(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static U LoadU16(const uint16_t* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void StoreU(uint32_t* p, U x) { _mm512_storeu_si512(p, x); }
  static void StoreU8(uint8_t* p, U x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x)); }
  static void StoreU16(uint16_t* p, U x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
  }
  static uint32_t LargestLane(U x) { return _mm512_reduce_max_epu32(x); }

  static U Bits(V x) { return _mm512_castps_si512(x); }
  static V Float(U x) { return _mm512_castsi512_ps(x); }

  static D ZeroD() { return _mm512_setzero_pd(); }
  static void Widen(V x, D* out) {
    out[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    out[1] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
  }
  static D AddSquare(D sum, D x) { return _mm512_fmadd_pd(x, x, sum); }
  static void StoreD(double* p, D x) { _mm512_storeu_pd(p, x); }
};

}  // namespace

uint32_t StepAvx512(const AdamCoefficients& k, const Slice& slice) { return Step<Avx512Simd>(k, slice); }
void SumChunksAvx512(GradForm form, const void* grad, size_t count, double* sums) {
  SumChunks<Avx512Simd>(form, grad, count, sums);
}
void MixAvx512(const Slice& slice, bool prefetch, float scale, float grad_scale) {
  Mix<Avx512Simd>(slice, prefetch, scale, grad_scale);
}

}  // namespace tidemill::cpu_adam
