#include "io/open_engine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/io/engine_fixture.h"

namespace tidemill::io {
namespace {

constexpr size_t kPage = kAlignmentBytes;

TEST(EngineChoice, HasTheNamesOfTheFlag) {
  EXPECT_EQ(ParseEngineChoice("auto").value(), EngineChoice::kAuto);
  EXPECT_EQ(ParseEngineChoice("io_uring").value(), EngineChoice::kIoUring);
  EXPECT_EQ(ParseEngineChoice("libaio").value(), EngineChoice::kLibaio);
  EXPECT_EQ(ParseEngineChoice("posix").value(), EngineChoice::kPosix);
  EXPECT_EQ(ParseEngineChoice("uring").error().code, ErrorCode::kInvalidArgument);
}

TEST(OpenEngine, OpensThePlainEngineEverywhereWithoutAWord) {
  const OpenedEngine opened = OpenEngine({.choice = EngineChoice::kPosix}).value();
  EXPECT_EQ(opened.engine->name(), "posix");
  EXPECT_TRUE(opened.notes.empty());
}

// Requests in registered memory, across its segments' ends and outside of it are the same to a caller.
TEST(OpenEngine, MovesRegisteredAndOtherMemoryAlike) {
  const AlignedBuffer arena = Buffer(64 * kPage, 1), other = Buffer(64 * kPage, 2), read = Buffer(64 * kPage);
  // Two neighbours registered apart, and a gap before and after.
  const Arenas arenas = {arena.span().subspan(8 * kPage, 8 * kPage), arena.span().subspan(16 * kPage, 16 * kPage)};
  auto opened = OpenEngine({.choice = EngineChoice::kIoUring, .registered = arenas});
  if (!opened) GTEST_SKIP() << opened.error().message;
  const TestDirectory directory;
  const SwapFile file = SwapFile::Create(directory.File("swap"), kFileBytes).value();
  opened->engine->AddFile(file.block_file());
  const std::span<std::byte> parts[] = {arena.span(), other.span(), arena.span().subspan(12 * kPage, 8 * kPage)};
  for (const std::span<std::byte> part : parts) {
    const auto target = read.span().first(part.size());
    ASSERT_TRUE(RunOne(*opened->engine, WriteOf(3 * kPage, part)));
    ASSERT_TRUE(RunOne(*opened->engine, ReadOf(3 * kPage, target)));
    EXPECT_TRUE(Same(part, target));
    std::fill(part.begin(), part.end(), std::byte{0});
    ASSERT_TRUE(RunOne(*opened->engine, ReadOf(3 * kPage, part)));
    EXPECT_TRUE(Same(part, target));
  }
  opened->engine.reset();
}

// In a child, since neither the limit nor the user comes back. Exit 0: one line, and the bytes are right.
TEST(OpenEngine, GoesOnUnregisteredWithOneLineUnderASmallMemlockLimit) {
  if (!MakeEngine("io_uring", {})) GTEST_SKIP() << "io_uring is refused here";
  if (::getuid() != 0) GTEST_SKIP() << "needs root, to become a user whom the limit binds";
  const TestDirectory directory;
  const SwapFile file = SwapFile::Create(directory.File("swap"), kFileBytes).value();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{64 * kKiB, 64 * kKiB};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(20);
    const AlignedBuffer arena = Buffer(kFileBytes, 1), read = Buffer(kFileBytes);
    auto opened = OpenEngine({.choice = EngineChoice::kIoUring, .registered = {arena.span()}});
    if (!opened) ::_exit(opened.error().message.find("ENOMEM") == std::string::npos ? 21 : 30);
    if (opened->notes.size() != 1) ::_exit(22);
    if (opened->notes[0].find("locked-memory limit 64.0 KiB") == std::string::npos) ::_exit(23);
    opened->engine->AddFile(file.block_file());
    if (!RunOne(*opened->engine, WriteOf(0, arena.span()))) ::_exit(24);
    if (!RunOne(*opened->engine, ReadOf(0, read.span()))) ::_exit(25);
    ::_exit(Same(arena.span(), read.span()) ? 0 : 26);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Descriptors are the one resource that every engine can be denied without help from outside.
#if !defined(__SANITIZE_ADDRESS__)  // UBSan looks at memory through a pipe, which the limit below refuses it too
TEST(OpenEngine, FallsBackStepByStepAndSaysSoOncePerStep) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{3, 3};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(20);
    const auto named = OpenEngine({.choice = EngineChoice::kIoUring});
    if (named || named.error().code != ErrorCode::kUnavailable) ::_exit(21);
    if (named.error().message.find("io_uring is refused") == std::string::npos) ::_exit(22);
    const auto opened = OpenEngine({.choice = EngineChoice::kAuto});
    if (!opened || opened->engine->name() != "posix") ::_exit(23);
    if (opened->notes.size() != 2) ::_exit(24);
    if (opened->notes[0].find("io_uring is refused") == std::string::npos) ::_exit(25);
    ::_exit(opened->notes[1].find("libaio is refused") == std::string::npos ? 26 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace tidemill::io
