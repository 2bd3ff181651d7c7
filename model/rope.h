// Rotary position embedding: inverse frequencies and the tables that gpu::Operations::Rope reads.
//
// Su et al., "RoFormer" (2021); the scalings are those of Hugging Face transformers, modeling_rope_utils, type default,
// linear and llama3 (attention factor 1), in fp32 as there:
//   default   f[i] = theta^(-2 i / head_dim), 0 <= i < head_dim / 2
//   linear    f[i] / factor
//   llama3    f[i] where the wavelength 2 pi / f[i] is below original / high_freq_factor, f[i] / factor where it is
//             above original / low_freq_factor, and between the two a blend that is linear in 1 / wavelength
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace tidemill::model {

// [head_dim / 2]
std::vector<float> InverseFrequencies(const RopeConfig& rope, int64_t head_dim);

// cosines, sines: [positions, frequencies.size()] with positions = cosines.size() / frequencies.size(); entry (p, i) is
// of the fp32 product p * frequencies[i].
void FillRopeTables(std::span<const float> frequencies, std::span<float> cosines, std::span<float> sines);

}  // namespace tidemill::model
