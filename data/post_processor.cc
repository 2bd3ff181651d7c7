#include "data/post_processor.h"

namespace tidemill::data {

PostProcessor PostProcessor::Inside(const PostProcessor& outer) const {
  PostProcessor both;
  both.before = outer.before;
  both.before.insert(both.before.end(), before.begin(), before.end());
  both.after = after;
  both.after.insert(both.after.end(), outer.after.begin(), outer.after.end());
  return both;
}

}  // namespace tidemill::data
