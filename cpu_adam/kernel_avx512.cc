// Compiled with -mavx512f -mavx512bw. Includes nothing but the bodies and the intrinsics: no std inline may leak.
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
  static void LoadPairs(const float* p, V& even, V& odd) {
    const V first = Load(p), second = Load(p + kLanes);
    even = _mm512_permutex2var_ps(first, AddU(Iota(), Iota()), second);
    odd = _mm512_permutex2var_ps(first, AddU(AddU(Iota(), Iota()), SetU(1)), second);
  }
  static void StorePairs(float* p, V even, V odd) {
    const U first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    Store(p, _mm512_permutex2var_ps(even, first, odd));
    Store(p + kLanes, _mm512_permutex2var_ps(even, AddU(first, SetU(8)), odd));
  }
  static V Set(float x) { return _mm512_set1_ps(x); }
  static V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V Div(V a, V b) { return _mm512_div_ps(a, b); }
  static V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V Sqrt(V a) { return _mm512_sqrt_ps(a); }
  static V Max(V a, V b) { return _mm512_max_ps(a, b); }
  static V Min(V a, V b) { return _mm512_min_ps(a, b); }

  static U SetU(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static U Iota() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  static U AddU(U a, U b) { return _mm512_add_epi32(a, b); }
  static U SubU(U a, U b) { return _mm512_sub_epi32(a, b); }
  static U SubHalves(U a, U b) { return _mm512_sub_epi16(a, b); }
  static U MulU(U a, U b) { return _mm512_mullo_epi32(a, b); }
  static U And(U a, U b) { return _mm512_and_si512(a, b); }
  static U Or(U a, U b) { return _mm512_or_si512(a, b); }
  static U JoinHalves(U upper, U lower) { return _mm512_mask_blend_epi16(0x55555555, upper, lower); }
  static U Xor(U a, U b) { return _mm512_xor_si512(a, b); }
  template <int kBits>
  static U ShiftLeft(U a) {
    return _mm512_slli_epi32(a, kBits);
  }
  template <int kBits>
  static U ShiftRight(U a) {
    return _mm512_srli_epi32(a, kBits);
  }
  static U MaxU(U a, U b) { return _mm512_max_epu32(a, b); }
  static U LoadU(const uint32_t* p) { return _mm512_loadu_si512(p); }
  static U LoadU16(const uint16_t* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void StoreU(uint32_t* p, U x) { _mm512_storeu_si512(p, x); }
  static void StoreU16(uint16_t* p, U x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
  }
  static U LoadWords(const uint16_t* p) { return _mm512_loadu_si512(p); }
  static void StoreWords(uint16_t* p, U x) { _mm512_storeu_si512(p, x); }
  static void StoreBytes(uint8_t* p, U x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi16_epi8(x));
  }
  static U F16Bits(V x) {
    return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void LoadCodes(const uint8_t* p, V& even, V& odd) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), mask = _mm256_set1_epi16(0x7f80);
    even = _mm512_cvtph_ps(_mm256_and_si256(_mm256_slli_epi16(codes, 7), mask));
    odd = _mm512_cvtph_ps(_mm256_and_si256(_mm256_srli_epi16(codes, 1), mask));
  }
  static void LoadSignedCodes(const uint8_t* p, V& even, V& odd) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i mask = _mm256_set1_epi16(static_cast<int16_t>(0xbf80));  // the shift doubles the sign
    even = _mm512_cvtph_ps(_mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(codes, 8), 1), mask));
    odd = _mm512_cvtph_ps(_mm256_and_si256(_mm256_srai_epi16(codes, 1), mask));
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

const Kernels kAvx512Kernels{Step<Avx512Simd>, SumChunks<InOrder<Avx512Simd>>, Mix<Avx512Simd>};

}  // namespace tidemill::cpu_adam
