// What goes around a tokenized text: the ids that the post-processor's template puts before and after it.
//
//   Threads  a plain value.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemill::data {

struct PostProcessor {
  std::vector<int32_t> before;  // such as a BOS
  std::vector<int32_t> after;   // such as an EOS

  // This one's ids inside, the other's outside: what a Sequence of the two does.
  PostProcessor Inside(const PostProcessor& outer) const;
};

}  // namespace tidemill::data
