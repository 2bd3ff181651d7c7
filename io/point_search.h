// Finds the fastest of many candidates by measuring most of them briefly and few of them long: successive halving.
// Pure: what a measurement is, and when time is up, are questions to the caller.
//
//   Halving     every round measures the survivors, twice as long as the round before, and keeps the faster half, until
//               `finalists` are left. Neighbouring rounds go through them in opposite order, so that a drift of the
//               machine favours nobody.
//   The final   the finalists and the reference take turns, `final_rounds` times.
//   The choice  a finalist replaces the reference only if it was faster in every one of at least kTurnsToTell turns:
//   one
//               that is no faster does so by chance once in 128 times. Of several the one with the highest median.
//   Time        when halving's time is up, the best so far are the finalists; the final has at least kFewestTurns.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"

namespace tidemill::io {

struct SearchPlan {
  static constexpr size_t kFewestTurns = 3, kTurnsToTell = 7;
  size_t finalists = 4;        // at least 2; the reference may be one more
  size_t final_rounds = 7;     // at least kFewestTurns; of fewer than kTurnsToTell nothing is concluded
  double first_seconds = 0.1;  // of a measurement in the first round
  double final_seconds = 0.5;
};

struct SearchClock {
  std::function<bool()> halving_over, final_over;
};

// Any unit, more is better. `seconds`: how long the measurement should take.
using MeasureCandidate = std::function<Result<double>(size_t candidate, double seconds)>;

struct Finalist {
  size_t candidate = 0;
  std::vector<double> rates;  // of each turn

  double Median() const;
  double Spread() const;  // standard deviation / mean
};

struct SearchOutcome {
  std::vector<Finalist> finalists;  // the chosen one first, then by median, downwards
  size_t reference = 0;             // the index of the reference among them
  bool above_noise = false;         // the chosen one is better than the reference; else it is the reference
  size_t measured = 0;              // candidates that were measured at all
};

// `reference` is one of the `candidates` (numbered from 0). Fails only as `measure` does.
Result<SearchOutcome> FindFastest(size_t candidates, size_t reference, const SearchPlan& plan, const SearchClock& clock,
                                  const MeasureCandidate& measure);

// The middle value; of an even number the mean of the two. 0 of none.
double MedianOf(std::vector<double> values);
// Standard deviation / mean; 0 of fewer than two.
double SpreadOf(const std::vector<double>& values);

}  // namespace tidemill::io
