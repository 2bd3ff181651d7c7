#!/usr/bin/env bash
# Builds and tests everything: the release build, then ASan with UBSan, then TSan. Ends with ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash tools/setup.sh
jobs=$(nproc)
for preset in release asan tsan; do
  echo "test: $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset" -j "$jobs"
  # Any report of a sanitizer ends the test that caused it.
  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 ctest --preset "$preset" -j "$jobs"
done
