// Internal: in which order a vector type holds the elements of memory. B is an instruction set's type (kernel_body.h);
// the streams and the rule are written over S, one of these two.
//
//   InOrder<B>  lane l holds element l. For fp32 streams.
//   Pairs<B>    two registers: lane l of the first holds element 2 l, of the second element 2 l + 1. A 32-bit word of
//               16-bit elements is then one element of each: a shift and a mask take it apart and put it together,
//               where lanes in order need widening and narrowing moves. One random word serves both elements.
#pragma once

#include "cpu_adam/kernel.h"

namespace tidemill::cpu_adam {
namespace {

constexpr uint32_t kUpperHalf = 0xffff0000;

template <typename B>
struct InOrder : B {
  using V = typename B::V;
  using U = typename B::U;

  static V LoadBf16(const uint16_t* p) { return B::Float(B::template ShiftLeft<16>(B::LoadU16(p))); }
  // The upper halves of x.
  static void StoreUpper(uint16_t* p, U x) { B::StoreU16(p, B::template ShiftRight<16>(x)); }
  static void StoreF16(uint16_t* p, V x) { B::StoreU16(p, B::F16Bits(x)); }

  static U LoadSplit(const uint16_t* param, const uint16_t* rest) {
    const U low = B::LoadU16(rest);
    const U high = B::SubU(B::LoadU16(param), B::template ShiftRight<15>(low));
    return B::Or(B::template ShiftLeft<16>(high), low);
  }
  static void StoreLower(uint16_t* p, U x) { B::StoreU16(p, B::And(x, B::SetU(0xffff))); }
};

template <typename B>
struct Pairs {
  using Register = B;
  static constexpr size_t kLanes = 2 * B::kLanes;
  struct V {
    typename B::V even, odd;
  };
  struct U {
    typename B::U even, odd;
  };

  static V Set(float x) { return {B::Set(x), B::Set(x)}; }
  static V Mul(V a, V b) { return {B::Mul(a.even, b.even), B::Mul(a.odd, b.odd)}; }
  static V Div(V a, V b) { return {B::Div(a.even, b.even), B::Div(a.odd, b.odd)}; }
  static V Fma(V a, V b, V c) { return {B::Fma(a.even, b.even, c.even), B::Fma(a.odd, b.odd, c.odd)}; }
  static V Sqrt(V a) { return {B::Sqrt(a.even), B::Sqrt(a.odd)}; }
  static V Max(V a, V b) { return {B::Max(a.even, b.even), B::Max(a.odd, b.odd)}; }
  static V Min(V a, V b) { return {B::Min(a.even, b.even), B::Min(a.odd, b.odd)}; }

  static U SetU(uint32_t x) { return {B::SetU(x), B::SetU(x)}; }
  static U AddU(U a, U b) { return {B::AddU(a.even, b.even), B::AddU(a.odd, b.odd)}; }
  static U And(U a, U b) { return {B::And(a.even, b.even), B::And(a.odd, b.odd)}; }
  static U MaxU(U a, U b) { return {B::MaxU(a.even, b.even), B::MaxU(a.odd, b.odd)}; }
  static uint32_t LargestLane(U x) { return B::LargestLane(B::MaxU(x.even, x.odd)); }
  static U Bits(V x) { return {B::Bits(x.even), B::Bits(x.odd)}; }
  static V Float(U x) { return {B::Float(x.even), B::Float(x.odd)}; }

  static V Load(const float* p) {
    V x;
    B::LoadPairs(p, x.even, x.odd);
    return x;
  }
  static void Store(float* p, V x) { B::StorePairs(p, x.even, x.odd); }
  // As the registers are, for values on their way from one loop to the next.
  static V LoadRegisters(const float* p) { return {B::Load(p), B::Load(p + B::kLanes)}; }
  static void StoreRegisters(float* p, V x) {
    B::Store(p, x.even);
    B::Store(p + B::kLanes, x.odd);
  }

  static V LoadBf16(const uint16_t* p) {
    const auto words = B::LoadWords(p);
    return Float({B::template ShiftLeft<16>(words), B::And(words, B::SetU(kUpperHalf))});
  }
  static void StoreUpper(uint16_t* p, U x) { B::StoreWords(p, Upper(x)); }
  static void StoreF16(uint16_t* p, V x) {
    B::StoreWords(p, B::Or(B::F16Bits(x.even), B::template ShiftLeft<16>(B::F16Bits(x.odd))));
  }
  // A word of both elements' upper halves.
  static typename B::U Upper(U x) { return B::JoinHalves(x.odd, B::template ShiftRight<16>(x.even)); }

  static U LoadSplit(const uint16_t* param, const uint16_t* rest) {
    const auto low = B::LoadWords(rest);
    // In halves: one that wraps must not borrow from its neighbour.
    const auto carry = B::And(B::template ShiftRight<15>(low), B::SetU(0x00010001));
    const auto high = B::SubHalves(B::LoadWords(param), carry);
    return {B::JoinHalves(B::template ShiftLeft<16>(high), low), B::JoinHalves(high, B::template ShiftRight<16>(low))};
  }
  static void StoreLower(uint16_t* p, U x) {
    B::StoreWords(p, B::JoinHalves(B::template ShiftLeft<16>(x.odd), x.even));
  }
};

}  // namespace
}  // namespace tidemill::cpu_adam
