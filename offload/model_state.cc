#include "offload/model_state.h"

#include <algorithm>
#include <cstring>

#include "base/byte_size.h"
#include "base/dtype.h"

namespace tidemill::offload {

using swap_scheduler::PageId;
using swap_scheduler::PageLayout;
using swap_scheduler::ProgramPages;

namespace {

uint64_t LargestPageBytes(const PageLayout& layout) {
  uint64_t elements = 0;
  for (const auto& page : layout.pages) elements = std::max(elements, page.elements);
  return AlignUp(elements * sizeof(float), 4096);
}

}  // namespace

uint64_t ModelState::BytesNeeded(const PageLayout& layout) { return 2 * LargestPageBytes(layout); }

Result<ModelState> ModelState::Create(Store& store, const PageLayout& layout, const ProgramPages& pages,
                                      DType param_dtype, cpu_adam::StateDtype state_dtype) {
  ModelState state(store, layout, pages, param_dtype, state_dtype);
  TM_ASSIGN_OR_RETURN(state.values_, AlignedBuffer::Allocate(LargestPageBytes(layout)));
  TM_ASSIGN_OR_RETURN(state.staging_, AlignedBuffer::Allocate(LargestPageBytes(layout)));
  return state;
}

std::span<float> ModelState::values(uint32_t page) const {
  return {reinterpret_cast<float*>(values_.data()), layout_->pages[page].elements};
}

std::span<std::byte> ModelState::staging(PageId page) const { return staging_.span().first(store_->PageBytes(page)); }

Status ModelState::ReadMaster(uint32_t page) {
  const std::span<float> master = values(page);
  const std::span<std::byte> param = staging(pages_->param[page]);
  TM_RETURN_IF_ERROR(store_->Read(pages_->param[page], param));
  if (!halves_) {
    std::memcpy(master.data(), param.data(), master.size_bytes());
    return Ok();
  }
  const auto* const codes = reinterpret_cast<const uint16_t*>(param.data());
  for (size_t i = 0; i < master.size(); ++i) master[i] = Bf16ToFloat(codes[i]);
  for (const ProgramPages::State& tile : pages_->state[page]) {
    if (!tile.rest) continue;
    TM_RETURN_IF_ERROR(store_->Read(*tile.rest, staging(*tile.rest)));
    const auto* const rest = reinterpret_cast<const uint16_t*>(staging_.data());
    for (size_t i = 0; i < tile.elements; ++i) {
      float& value = master[tile.first_element + i];
      value = JoinMaster(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16), rest[i]);
    }
  }
  return Ok();
}

Status ModelState::WriteMaster(uint32_t page) {
  const std::span<const float> master = values(page);
  const std::span<std::byte> param = staging(pages_->param[page]);
  std::fill(param.begin(), param.end(), std::byte{0});
  if (!halves_) {
    std::memcpy(param.data(), master.data(), master.size_bytes());
    return store_->Write(pages_->param[page], param);
  }
  auto* const codes = reinterpret_cast<uint16_t*>(param.data());
  for (size_t i = 0; i < master.size(); ++i) codes[i] = SplitMaster(master[i]).param;
  TM_RETURN_IF_ERROR(store_->Write(pages_->param[page], param));
  for (const ProgramPages::State& tile : pages_->state[page]) {
    if (!tile.rest) continue;
    const std::span<std::byte> bytes = staging(*tile.rest);
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    auto* const rest = reinterpret_cast<uint16_t*>(bytes.data());
    for (size_t i = 0; i < tile.elements; ++i) rest[i] = SplitMaster(master[tile.first_element + i]).rest;
    TM_RETURN_IF_ERROR(store_->Write(*tile.rest, bytes));
  }
  return Ok();
}

Status ModelState::VisitTiles(uint32_t page, Moment moment, bool write) {
  const std::span<float> all = values(page);
  const uint64_t first_of_page = layout_->ElementsBefore(page);
  for (const ProgramPages::State& tile : pages_->state[page]) {
    const PageId id = moment == Moment::kExpAvg ? tile.exp_avg : tile.exp_avg_sq;
    const std::span<std::byte> bytes = staging(id);
    const std::span<float> part = all.subspan(tile.first_element, tile.elements);
    if (write) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      EncodeMoment(state_dtype_, moment, part, first_of_page + tile.first_element, bytes);
      TM_RETURN_IF_ERROR(store_->Write(id, bytes));
    } else {
      TM_RETURN_IF_ERROR(store_->Read(id, bytes));
      DecodeMoment(state_dtype_, moment, bytes, part);
    }
  }
  return Ok();
}

Status ModelState::ReadMoment(uint32_t page, Moment moment) { return VisitTiles(page, moment, false); }
Status ModelState::WriteMoment(uint32_t page, Moment moment) { return VisitTiles(page, moment, true); }

}  // namespace tidemill::offload
