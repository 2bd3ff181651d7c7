// What `bench io` says: a table and remarks for people, JSON for machines.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/bench.h"

namespace tidemill::tools {

struct BenchIoRow {
  io::BenchPoint point;
  io::BenchRow result;
  std::vector<std::string> paths;  // of the files; several: measured together
  double runtime_seconds = 0;
};

std::string BenchIoHeader();
// The row's line; of a run of 10 s or more also the rate of each twentieth, where a write cache that fills up shows.
std::string BenchIoLine(const BenchIoRow& row);

// {"results":[...]}. "file" is the path, of several files all of them with commas; "directories" is their number.
std::string BenchIoJson(std::span<const BenchIoRow> rows);

// What a person should know about the rows; empty if nothing.
std::vector<std::string> RemarksAbout(const BenchIoRow& row);

// Prints remarks on stderr, each once.
class BenchIoRemarks {
 public:
  void Say(const std::string& line);
  void About(const BenchIoRow& row);

 private:
  std::set<std::string> said_;
};

}  // namespace tidemill::tools
