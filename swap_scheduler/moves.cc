// Moves: which way a page's present version goes, and what each move waits for.
#include "base/check.h"
#include "swap_scheduler/residency.h"

namespace tidemill::swap_scheduler {
namespace {

Lane LaneOf(Tier from, Tier to) {
  if (to == Tier::kDevice) return Lane::kUpload;
  if (from == Tier::kDevice) return Lane::kDownload;
  return to == Tier::kHost ? Lane::kNvmeRead : Lane::kNvmeWrite;
}

uint64_t& BytesOf(LaneBytes& moved, Lane lane) {
  switch (lane) {
    case Lane::kUpload:
      return moved.upload;
    case Lane::kDownload:
      return moved.download;
    case Lane::kNvmeRead:
      return moved.nvme_read;
    default:
      return moved.nvme_write;
  }
}

}  // namespace

EventId Residency::Emit(Event event) {
  events_.push_back(std::move(event));
  return static_cast<EventId>(events_.size() - 1);
}

void Residency::Move(PageId page, Tier from, Tier to) {
  TM_CHECK(Current(page, from) && !Current(page, to));
  Event event{.lane = LaneOf(from, to), .page = page, .from = from, .to = to};
  Clock waits = from == Tier::kNvme ? stored_[page].ready : At(page, from).ready;
  if (from != Tier::kNvme) event.from_offset = At(page, from).offset;
  if (to == Tier::kNvme) {
    waits.Add(stored_[page].ready);
    waits.Add(stored_[page].users);
  } else {
    Copy& copy = At(page, to);
    TM_CHECK(copy.exists);
    event.to_offset = copy.offset;
    waits.Add(copy.space);
    waits.Add(copy.ready);
    waits.Add(copy.users);
  }
  event.waits_for = waits.Events();
  BytesOf(moved_, event.lane) += PageOf(page).bytes;
  const Lane lane = event.lane;
  moved_items_[static_cast<size_t>(lane)][static_cast<size_t>(PageOf(page).kind)] += PageOf(page).bytes;
  const EventId id = Emit(std::move(event));
  (from == Tier::kNvme ? stored_[page].users : At(page, from).users).Add(lane, id);
  if (to == Tier::kNvme) {
    stored_[page] = {.current = true, .ready = Clock(lane, id), .users = {}};
    return;
  }
  Copy& copy = At(page, to);
  copy.current = true;
  copy.space = copy.users = {};
  copy.ready = Clock(lane, id);
}

// Place, while the copy that will be moved from stays: making room can send other pages, and so their neighbours, home.
bool Residency::PlaceBeside(PageId page, Tier source, Tier tier, Need need) {
  Copy& copy = At(page, source);
  const bool held = copy.held;
  copy.held = copy.exists;
  const bool placed = Place(page, tier, need);
  copy.held = held;
  return placed;
}

// A present copy in host memory: a home, or a place on the way.
bool Residency::StageOnHost(PageId page, Need need) {
  if (Current(page, Tier::kHost)) return true;
  if (!PlaceBeside(page, Tier::kDevice, Tier::kHost, need)) return false;
  Move(page, Current(page, Tier::kDevice) ? Tier::kDevice : Tier::kNvme, Tier::kHost);
  return true;
}

bool Residency::Fetch(PageId page, Tier tier, Need need) {
  if (Current(page, tier)) return true;
  if (!Current(page, Tier::kDevice) && !Current(page, Tier::kHost) && !Current(page, Tier::kNvme)) return false;
  TM_CHECK(At(page, tier).exists);
  if (!StageOnHost(page, need)) return false;
  if (tier == Tier::kDevice) Move(page, Tier::kHost, Tier::kDevice);
  Tidy(page);
  return true;
}

bool Residency::SendHome(PageId page, Need need) {
  const Tier home = PageOf(page).home;
  if (HomeCurrent(page)) return true;
  if (home == Tier::kDevice) {
    if (!PlaceBeside(page, Tier::kHost, Tier::kDevice, need)) return false;
    Move(page, Tier::kHost, Tier::kDevice);
  } else {
    if (!StageOnHost(page, need)) return false;
    if (home == Tier::kNvme) Move(page, Tier::kHost, Tier::kNvme);
  }
  Tidy(page);
  return true;
}

}  // namespace tidemill::swap_scheduler
