#include "train/plan_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tidemill::train {
namespace {

PlanReport Sample() {
  PlanReport report;
  report.parameters = 1000;
  report.trainable_parameters = 900;
  report.homes = {{"params", "nvme"}};
  report.tiers[0] = {1ULL << 30, 1ULL << 20, {{"block", 1ULL << 20}}};
  report.pinned_bytes = 3ULL << 20;
  report.lanes[1].bytes = 5000;
  report.advice = {"more host memory"};
  report.nvme_bytes_written_per_step = 7;
  return report;
}

TEST(PlanReport, HasEveryKeyOfTheInterface) {
  const auto json = nlohmann::json::parse(FormatPlanJson(Sample()));
  EXPECT_EQ(json["parameters"], 1000);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["tiers"]["device"]["budget_bytes"], 1ULL << 30);
  EXPECT_EQ(json["tiers"]["device"]["items"][0]["bytes"], 1ULL << 20);
  EXPECT_TRUE(json["tiers"]["nvme"]["budget_bytes"].is_null());
  EXPECT_EQ(json["pinned_bytes"], 3ULL << 20);
  EXPECT_EQ(json["lanes"]["upload"]["bytes"], 5000);
  for (const char* key : {"busy_seconds", "hidden_seconds", "exposed_seconds"})
    EXPECT_TRUE(json["lanes"]["nvme_read"].contains(key)) << key;
  EXPECT_TRUE(json["step_seconds"].is_null() && json["tokens_per_second"].is_null() && json["bound"].is_null());
  EXPECT_EQ(json["advice"][0], "more host memory");
  EXPECT_EQ(json["nvme_bytes_written_per_step"], 7);
}

TEST(PlanReport, SaysWhatWouldMakeItFit) {
  PlanReport report = Sample();
  EXPECT_TRUE(FormatPlan(report).ends_with("it fits\n"));
  report.fits = false;
  report.smallest_change = "the host has too little";
  EXPECT_TRUE(FormatPlan(report).ends_with("it does not fit: the host has too little\n"));
  EXPECT_EQ(nlohmann::json::parse(FormatPlanJson(report))["smallest_change"], "the host has too little");
}

TEST(PlanReport, LabelsEverySizeForPeople) {
  const std::string text = FormatPlan(Sample());
  EXPECT_NE(text.find("pinned host memory              3.00 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00 MiB  of 1.00 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("nvme                            none"), std::string::npos) << text;
}

TEST(PlanReport, NamesTheEncodingOfTheMoments) {
  PlanReport report = Sample();
  EXPECT_FALSE(nlohmann::json::parse(FormatPlanJson(report)).contains("optimizer_state"));
  report.state_dtype = "int8";
  report.master_dtype = "bf16";
  report.state_bytes = 2008;
  const auto json = nlohmann::json::parse(FormatPlanJson(report));
  EXPECT_EQ(json["optimizer_state"]["dtype"], "int8");
  EXPECT_EQ(json["optimizer_state"]["bytes"], 2008);
  EXPECT_EQ(json["optimizer_state"]["master_dtype"], "bf16");
  EXPECT_NE(FormatPlan(report).find("int8"), std::string::npos);
}

}  // namespace
}  // namespace tidemill::train
