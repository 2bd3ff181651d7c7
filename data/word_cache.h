// Remembers the ids of words met before. Ordinary text repeats its words, so most of them are never spelled twice.
//
//   Threads  one thread at a time.
//   Limits   2 MiB, whatever the text: 32,768 places, one word each; a newcomer takes the place. Words longer than 26
//            bytes or of more than 8 ids are not kept.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tidemill::data {

class WordCache {
 public:
  WordCache() : places_(kPlaces) {}

  // The ids of the word, or an empty span. Valid until the next Put().
  std::span<const int32_t> Find(std::string_view word) const;

  void Put(std::string_view word, std::span<const int32_t> ids);

 private:
  static constexpr size_t kPlaces = 32768;
  static constexpr size_t kMaxWordBytes = 26;
  static constexpr size_t kMaxIds = 8;

  struct Place {
    uint8_t ids_count = 0;  // 0: free
    uint8_t word_bytes = 0;
    std::array<char, kMaxWordBytes> word;
    std::array<int32_t, kMaxIds> ids;
  };

  static size_t PlaceOf(std::string_view word);

  std::vector<Place> places_;
};

}  // namespace tidemill::data
