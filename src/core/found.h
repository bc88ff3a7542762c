// SPDX-License-Identifier: Apache-2.0
// found.h - findings, as a store comes upon them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "holdfast/rows.h"

namespace holdfast::core {

class Found {
 public:
  void note(const char* topic, std::string what, std::string advice) {
    add(Weight::note, topic, std::move(what), std::move(advice));
  }
  void warn(const char* topic, std::string what, std::string advice) {
    add(Weight::warning, topic, std::move(what), std::move(advice));
  }
  void danger(const char* topic, std::string what, std::string advice) {
    add(Weight::danger, topic, std::move(what), std::move(advice));
  }

  // The last one is told to every client.  REQUIRES: there is one.
  void tell() { findings_.back().at_open = true; }
  void tell_all() {
    for (Finding& finding : findings_) finding.at_open = true;
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void add(Weight weight, const char* topic, std::string what, std::string advice) {
    findings_.push_back({weight, topic, std::move(what), std::move(advice)});
  }
  std::vector<Finding> findings_;
};

}  // namespace holdfast::core
