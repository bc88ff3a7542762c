// SPDX-License-Identifier: Apache-2.0
// A job whose argument makes no key by itself: compiled by three tests: with an identifier, without one,
// and without a lock, where it needs none.
#include <string>
#include <vector>

#include "holdfast/jobs.h"

struct Listing {
  static constexpr std::string_view name = "Listing";
#ifndef WITHOUT_LOCK
  static constexpr holdfast::JobLock lock{};
#endif
#ifdef WITH_IDENTIFIER
  static std::optional<std::string> identifier(const std::vector<int>& pages) {
    return std::to_string(pages.size());
  }
#endif
  void perform(holdfast::JobContext&, const std::vector<int>&) {}
};

void enqueue(const holdfast::Jobs& jobs) { (void)jobs.perform_later<Listing>(std::vector<int>{1, 2}); }
