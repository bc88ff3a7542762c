// SPDX-License-Identifier: Apache-2.0
#include "sim/shrink.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "sim/world.h"

namespace holdfast::sim {
namespace {

std::string word_for(Fault fault) {
  std::string word = to_string(fault);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

int at_most(int limit, int of_seed) { return limit > 0 ? std::min(limit, of_seed) : of_seed; }

struct Count {
  std::string_view name;
  int Less::*less;
  int Plan::*plan;
};
constexpr Count counts[] = {{"processes", &Less::processes, &Plan::processes},
                            {"threads", &Less::threads, &Plan::threads},
                            {"keys", &Less::keys, &Plan::keys}};

std::string parse_one(std::string_view word, Less& less) {
  for (const Count& count : counts) {
    if (!word.starts_with(count.name) || !word.substr(count.name.size()).starts_with('=')) continue;
    const std::string_view number = word.substr(count.name.size() + 1);
    int& value = less.*count.less;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc{} && end == number.data() + number.size() && value > 0) return {};
    return "'" + std::string(word) + "' needs a number above 0";
  }
  for (const Fault fault : all<Fault>) {
    if (word != word_for(fault)) continue;
    less.without.push_back(fault);
    return {};
  }
  return "'" + std::string(word) +
         "' cannot be left out; write processes=N, threads=N, keys=N or a fault, as lost-reply";
}

}  // namespace

Plan Less::of(Plan plan) const {
  for (const Count& count : counts) plan.*count.plan = at_most(this->*count.less, plan.*count.plan);
  for (const Fault fault : without) plan.probability[static_cast<std::size_t>(fault)] = 0;
  return plan;
}

std::string to_string(const Less& less) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ",") + word; };
  for (const Count& count : counts) {
    if (less.*count.less > 0) add(std::string(count.name) + "=" + std::to_string(less.*count.less));
  }
  for (const Fault fault : less.without) add(word_for(fault));
  return text;
}

std::string parse(std::string_view text, Less& less) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (std::string wrong = parse_one(text.substr(0, comma), less); !wrong.empty()) return wrong;
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

Less shrink(std::uint64_t seed, Mutant mutant, const char* promise) {
  Less less;
  const auto still_breaks = [&](const Less& tried) {
    const Outcome outcome = run(seed, {.mutant = mutant, .less = tried});
    return outcome.violation && std::string_view(outcome.violation->property) == promise;
  };
  const auto keep = [&](const Less& tried) {
    if (!still_breaks(tried)) return false;
    less = tried;
    return true;
  };
  const Plan plan = plan_for(seed);
  for (bool again = true; again;) {
    again = false;
    const Plan now = less.of(plan);
    for (const Count& count : counts) {
      for (int fewer = 1; fewer < now.*count.plan; ++fewer) {
        Less tried = less;
        tried.*count.less = fewer;
        if (!keep(tried)) continue;
        again = true;
        break;
      }
    }
    for (const Fault fault : all<Fault>) {
      if (less.of(plan).of(fault) == 0) continue;
      Less tried = less;
      tried.without.push_back(fault);
      again = keep(tried) || again;
    }
  }
  return less;
}

}  // namespace holdfast::sim
