#include "data/word_cache.h"

#include <algorithm>

namespace tidemill::data {

size_t WordCache::PlaceOf(std::string_view word) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char byte : word) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
  return (hash >> 32 ^ hash) % kPlaces;
}

std::span<const int32_t> WordCache::Find(std::string_view word) const {
  if (word.size() > kMaxWordBytes) return {};
  const Place& place = places_[PlaceOf(word)];
  if (place.ids_count == 0 || std::string_view(place.word.data(), place.word_bytes) != word) return {};
  return {place.ids.data(), place.ids_count};
}

void WordCache::Put(std::string_view word, std::span<const int32_t> ids) {
  if (word.size() > kMaxWordBytes || ids.empty() || ids.size() > kMaxIds) return;
  Place& place = places_[PlaceOf(word)];
  place.ids_count = static_cast<uint8_t>(ids.size());
  place.word_bytes = static_cast<uint8_t>(word.size());
  std::copy(word.begin(), word.end(), place.word.begin());
  std::copy(ids.begin(), ids.end(), place.ids.begin());
}

}  // namespace tidemill::data
