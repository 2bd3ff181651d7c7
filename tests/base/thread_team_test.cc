#include "base/thread_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <system_error>

namespace tidemill {
namespace {

TEST(ThreadTeam, CoversEveryElementOnceWhateverTheSize) {
  for (const size_t size : {1U, 2U, 3U, 7U}) {
    ThreadTeam team(size);
    for (const size_t count : {0U, 1U, 15U, 16U, 17U, 1000U}) {
      std::vector<int> hits(count);
      team.For(count, 16, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), 0), static_cast<int>(count));
    }
  }
}

TEST(ThreadTeam, SharesStartOnTheGrain) {
  ThreadTeam team(3);
  team.For(100, 16, [](size_t begin, size_t end) {
    EXPECT_EQ(begin % 16, 0U);
    EXPECT_TRUE(end % 16 == 0 || end == 100);
  });
}

TEST(ThreadTeam, OrdersEveryRoundBeforeTheNext) {
  ThreadTeam team(4);
  std::vector<long> sums(team.size());
  for (long round = 0; round < 2000; ++round) {
    team.Run([&](size_t member) { sums[member] += round; });
    for (const long sum : sums) ASSERT_EQ(sum, round * (round + 1) / 2);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve address space by terabytes
// A process that gives itself room for a few stacks and asks for many threads.
[[noreturn]] void AskForMoreThreadsThanFit() {
  std::ifstream pages("/proc/self/statm");
  rlim_t used = 0;
  pages >> used;
  const rlim_t room = used * 4096 + (rlim_t{64} << 20);
  const rlimit limit{room, room};
  setrlimit(RLIMIT_AS, &limit);
  try {
    const ThreadTeam team(256);
  } catch (const std::system_error&) {
    std::_Exit(7);
  }
  std::_Exit(0);
}

TEST(ThreadTeam, EndsItsThreadsWhenTheSystemHasNoFurtherOne) {
  EXPECT_EXIT(AskForMoreThreadsThanFit(), testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace tidemill
