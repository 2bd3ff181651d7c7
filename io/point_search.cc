#include "io/point_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace tidemill::io {
namespace {

constexpr double kUnmeasured = -std::numeric_limits<double>::infinity();

// The better half of `survivors`, best first; the reference stays in any case.
void KeepBetterHalf(std::vector<size_t>& survivors, const std::vector<double>& rates, size_t reference) {
  std::stable_sort(survivors.begin(), survivors.end(), [&](size_t a, size_t b) { return rates[a] > rates[b]; });
  const size_t half = (survivors.size() + 1) / 2;
  const bool reference_falls =
      std::find(survivors.begin() + static_cast<std::ptrdiff_t>(half), survivors.end(), reference) != survivors.end();
  survivors.resize(half);
  if (reference_falls) survivors.push_back(reference);
}

// Rounds of halving; returns what is left.
Result<std::vector<size_t>> Halve(size_t candidates, size_t reference, const SearchPlan& plan, const SearchClock& clock,
                                  const MeasureCandidate& measure, size_t& measured) {
  std::vector<size_t> survivors(candidates);
  std::iota(survivors.begin(), survivors.end(), size_t{0});
  std::vector<double> rates(candidates, kUnmeasured);
  double seconds = plan.first_seconds;
  // With the reference among them at most `finalists` + 1.
  for (size_t round = 0; survivors.size() > plan.finalists + 1; ++round, seconds *= 2) {
    if (round % 2 == 1) std::reverse(survivors.begin(), survivors.end());
    for (const size_t candidate : survivors) {
      if (clock.halving_over()) break;
      if (round == 0) ++measured;
      TM_ASSIGN_OR_RETURN(rates[candidate], measure(candidate, seconds));
    }
    if (clock.halving_over()) break;
    KeepBetterHalf(survivors, rates, reference);
  }
  while (survivors.size() > plan.finalists + 1) KeepBetterHalf(survivors, rates, reference);
  std::erase_if(survivors, [&](size_t candidate) { return rates[candidate] == kUnmeasured && candidate != reference; });
  return survivors;
}

bool FasterInEveryTurn(const Finalist& one, const Finalist& other) {
  if (one.rates.size() < SearchPlan::kTurnsToTell) return false;
  for (size_t turn = 0; turn < one.rates.size(); ++turn) {
    if (one.rates[turn] <= other.rates[turn]) return false;
  }
  return true;
}

}  // namespace

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double SpreadOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / (count - 1)) / mean : 0;
}

double Finalist::Median() const { return MedianOf(rates); }
double Finalist::Spread() const { return SpreadOf(rates); }

Result<SearchOutcome> FindFastest(size_t candidates, size_t reference, const SearchPlan& plan, const SearchClock& clock,
                                  const MeasureCandidate& measure) {
  TM_CHECK(reference < candidates && plan.finalists >= 2 && plan.final_rounds >= SearchPlan::kFewestTurns);
  SearchOutcome outcome;
  TM_ASSIGN_OR_RETURN(const std::vector<size_t> last,
                      Halve(candidates, reference, plan, clock, measure, outcome.measured));
  for (const size_t candidate : last) outcome.finalists.push_back({candidate, {}});
  for (size_t turn = 0; turn < plan.final_rounds; ++turn) {
    if (turn >= SearchPlan::kFewestTurns && clock.final_over()) break;
    for (size_t i = 0; i < last.size(); ++i) {
      Finalist& finalist = outcome.finalists[turn % 2 == 0 ? i : last.size() - 1 - i];
      TM_ASSIGN_OR_RETURN(const double rate, measure(finalist.candidate, plan.final_seconds));
      finalist.rates.push_back(rate);
    }
  }
  auto& finalists = outcome.finalists;
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const Finalist& a, const Finalist& b) { return a.Median() > b.Median(); });
  const auto is_reference = [&](const Finalist& finalist) { return finalist.candidate == reference; };
  const Finalist basis = *std::find_if(finalists.begin(), finalists.end(), is_reference);
  auto chosen = std::find_if(finalists.begin(), finalists.end(),
                             [&](const Finalist& finalist) { return FasterInEveryTurn(finalist, basis); });
  outcome.above_noise = chosen != finalists.end();
  if (!outcome.above_noise) chosen = std::find_if(finalists.begin(), finalists.end(), is_reference);
  std::rotate(finalists.begin(), chosen, chosen + 1);
  outcome.reference =
      static_cast<size_t>(std::find_if(finalists.begin(), finalists.end(), is_reference) - finalists.begin());
  return outcome;
}

}  // namespace tidemill::io
