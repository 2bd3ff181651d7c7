// A step program: every operation of one step in order, each naming the pages it touches. Plain values, no behaviour.
//
// A step starts and ends alike: every persistent page is current in its home and nothing else is alive. So a program
// can be repeated for ever, and planning one step plans them all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill::swap_scheduler {

enum class Tier : uint8_t { kDevice, kHost, kNvme };
inline constexpr size_t kTiers = 3;

// Lanes run side by side; each carries out its events in order.
enum class Lane : uint8_t { kCompute, kAdam, kUpload, kDownload, kNvmeRead, kNvmeWrite };
inline constexpr size_t kLanes = 6;

enum class Kind : uint8_t {
  kParam,  // compute dtype; with fp32 compute it is the master
  kRest,   // what the fp32 master has beyond a bf16 param
  kExpAvg,
  kExpAvgSq,
  kFold,        // fp32 partial sum of a gradient over micro-batches
  kGrad,        // the finished gradient, rounded to the gradient dtype
  kActivation,  // block boundaries, kept inner activations, their gradients, key-value caches
};
inline constexpr size_t kKinds = 7;

std::string_view Name(Tier tier);
std::string_view Name(Lane lane);
std::string_view Name(Kind kind);

using PageId = uint32_t;

// The unit that is placed and moved: contiguous bytes of one kind.
struct Page {
  std::string name{};  // for messages: "layers.3.1.param"
  Kind kind = Kind::kParam;
  Tier home = Tier::kDevice;  // where it rests; it never rests lower, and passes through the tiers between
  bool persistent = false;    // lives across steps; else it is made and dies within one
  uint64_t bytes = 0;         // a multiple of 4096
};

enum class Access : uint8_t {
  kRead,
  kUpdate,  // read and written in place
  kMake,    // written without being read: the old content is lost
};

struct Use {
  PageId page = 0;
  Access access = Access::kRead;
  bool dies = false;  // nobody reads this version after this operation
};

enum class OperationKind : uint8_t {
  kEmbedForward,
  kBlockForward,
  kHeadForward,
  kHeadBackward,
  kBlockBackward,
  kEmbedBackward,
  kFinishGrad,
  kNorm,
  kAdam,
};
inline constexpr size_t kOperationKinds = 9;

std::string_view Name(OperationKind kind);

struct Operation {
  OperationKind kind = OperationKind::kBlockForward;
  Lane lane = Lane::kCompute;        // kCompute or kAdam
  Tier tier = Tier::kDevice;         // where all its pages have to be: kDevice for kCompute, kHost for kAdam
  uint32_t phase_block = 0;          // grows by one from block to block of the program: look-ahead is counted in these
  uint32_t block = 0;                // which embedding slice, layer or head slice, by kind
  uint32_t micro_batch = 0;          // within the step
  bool first = false, last = false;  // first or last slice, or first micro-batch folded into a gradient, by kind
  bool after_norm = false;           // may start only when the kNorm operation has ended
  std::vector<Use> uses{};  // each page once; the order is part of the contract between builder and interpreter
};

struct Program {
  std::vector<Page> pages{};
  std::vector<Operation> operations{};
};

}  // namespace tidemill::swap_scheduler
