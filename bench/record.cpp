// SPDX-License-Identifier: Apache-2.0
#include "bench/record.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/axis.h"

namespace holdfast::bench {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Spread& s) {
  return {{"low", s.low}, {"high", s.high}, {"min", s.least}, {"max", s.most}};
}

Json json_of(const Figure& f) {
  return {{"what", f.what},
          {"value", f.value.median},
          {"against", f.against},
          {"reference", f.reference.median},
          {"unit", f.unit},
          {"better", f.better == Better::more ? "more" : "less"},
          {"ratio", f.ratio.median},
          {"spread", json_of(f.ratio)},
          {"value_spread", json_of(f.value)},
          {"reference_spread", json_of(f.reference)}};
}

Json json_of(const Run::Done& done) {
  Json json{{"name", done.name},         {"sentence", done.sentence}, {"store", done.store},
            {"seconds", done.seconds},   {"figures", Json::array()},  {"charts", Json::array()},
            {"notes", done.report.notes}};
  for (const Figure& f : done.report.figures) json["figures"].push_back(json_of(f));
  for (const auto& [name, chart] : done.report.charts) json["charts"].push_back(name + ".svg");
  return json;
}

std::string padded(std::string text, std::size_t width, bool left = true) {
  if (text.size() >= width) return text;
  const std::string spaces(width - text.size(), ' ');
  return left ? text + spaces : spaces + text;
}

std::string ratio_text(double ratio) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), ratio >= 100 ? "%.0f" : ratio >= 0.1 ? "%.2f" : "%.2g", ratio);
  return text.data();
}

}  // namespace

std::string to_json(const Run& run) {
  const Machine& m = run.machine;
  Json json{{"machine",
             {{"cores", m.cores},
              {"processor", m.processor},
              {"kernel", m.kernel},
              {"compiler", m.compiler},
              {"build", m.build},
              {"sqlite", m.sqlite},
              {"load_before", m.load_before}}},
            {"seed", run.effort.seed},
            {"quick", run.effort.quick},
            {"workloads", Json::array()},
            {"skipped", Json::array()}};
  for (const Run::Done& done : run.workloads) json["workloads"].push_back(json_of(done));
  for (const Run::Skipped& s : run.skipped) json["skipped"].push_back({{"name", s.name}, {"why", s.why}});
  return json.dump(2) + "\n";
}

std::string to_table(const Run::Done& done) {
  std::size_t what = 0, against = 0;
  for (const Figure& f : done.report.figures) {
    what = std::max(what, f.what.size());
    against = std::max(against, f.against.size());
  }
  std::string table =
      done.name + ": " + done.sentence + (done.store.empty() ? "" : " [" + done.store + "]") + "\n";
  for (const Figure& f : done.report.figures) {
    const Spread& r = f.ratio;
    table += "  " + padded(f.what, what) + padded(short_number(f.value.median), 9, false) + " " +
             padded(f.unit, 9) + "| " + padded(f.against, against) +
             padded(short_number(f.reference.median), 9, false) + " | ratio " +
             padded(ratio_text(r.median), 6, false) + "  (" + ratio_text(r.low) + " .. " +
             ratio_text(r.high) + ", " + (f.better == Better::more ? "more" : "less") + " is better)\n";
  }
  for (const std::string& note : done.report.notes) table += "  " + note + "\n";
  return table;
}

std::string to_table(const Run::Skipped& skipped) {
  return skipped.name + ": skipped: " + skipped.why + "\n";
}

}  // namespace holdfast::bench
