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
  static void LoadPairs(const float* p, V& even, V& odd) {
    const V first = Load(p), second = Load(p + kLanes);
    even = InOrderQuarters(_mm256_shuffle_ps(first, second, 0x88));
    odd = InOrderQuarters(_mm256_shuffle_ps(first, second, 0xdd));
  }
  static void StorePairs(float* p, V even, V odd) {
    const V low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    Store(p, _mm256_permute2f128_ps(low, high, 0x20));
    Store(p + kLanes, _mm256_permute2f128_ps(low, high, 0x31));
  }
  static V InOrderQuarters(V x) {  // 0 2 1 3
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
  }
  static V Set(float x) { return _mm256_set1_ps(x); }
  static V Mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V Div(V a, V b) { return _mm256_div_ps(a, b); }
  static V Fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V Sqrt(V a) { return _mm256_sqrt_ps(a); }
  static V Max(V a, V b) { return _mm256_max_ps(a, b); }
  static V Min(V a, V b) { return _mm256_min_ps(a, b); }

  static U SetU(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static U Iota() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static U AddU(U a, U b) { return _mm256_add_epi32(a, b); }
  static U SubU(U a, U b) { return _mm256_sub_epi32(a, b); }
  static U SubHalves(U a, U b) { return _mm256_sub_epi16(a, b); }
  static U MulU(U a, U b) { return _mm256_mullo_epi32(a, b); }
  static U And(U a, U b) { return _mm256_and_si256(a, b); }
  static U Or(U a, U b) { return _mm256_or_si256(a, b); }
  static U JoinHalves(U upper, U lower) { return _mm256_blend_epi16(lower, upper, 0xaa); }
  static U Xor(U a, U b) { return _mm256_xor_si256(a, b); }
  template <int kBits>
  static U ShiftLeft(U a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return _mm256_srli_epi32(a, kBits);
  }
  static U MaxU(U a, U b) { return _mm256_max_epu32(a, b); }
  static U LoadU(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static U LoadU16(const uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static __m128i Narrow(U x) { return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)); }
  static void StoreU(uint32_t* p, U x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static void StoreU16(uint16_t* p, U x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), Narrow(x)); }
  static U LoadWords(const uint16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void StoreWords(uint16_t* p, U x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static void StoreBytes(uint8_t* p, U x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
  }
  static U F16Bits(V x) {
    return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void LoadCodes(const uint8_t* p, V& even, V& odd) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), mask = _mm_set1_epi16(0x7f80);
    even = _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(codes, 7), mask));
    odd = _mm256_cvtph_ps(_mm_and_si128(_mm_srli_epi16(codes, 1), mask));
  }
  static void LoadSignedCodes(const uint8_t* p, V& even, V& odd) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i mask = _mm_set1_epi16(static_cast<int16_t>(0xbf80));  // the shift doubles the sign
    even = _mm256_cvtph_ps(_mm_and_si128(_mm_srai_epi16(_mm_slli_epi16(codes, 8), 1), mask));
    odd = _mm256_cvtph_ps(_mm_and_si128(_mm_srai_epi16(codes, 1), mask));
  }
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

const Kernels kAvx2Kernels{Step<Avx2Simd>, SumChunks<InOrder<Avx2Simd>>, Mix<Avx2Simd>};

}  // namespace tidemill::cpu_adam
