// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/rule_cases.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using enum Who;

struct State {
  std::string name;
  std::vector<Step> steps = {};
  Ends ends = Ends::far_away;
};

Step acquires(Micros at, Who who, const char* owner, Ttl ttl) {
  return {at, {.who = who, .owner = owner, .ttl = ttl}};
}
Step releases(Micros at, Who who, const char* owner) {
  return {at, {.who = who, .verb = Verb::release, .owner = owner}};
}
Step waits(Micros at, Who who, const char* owner, Millis place) {
  return {at, {.who = who, .owner = owner, .ttl = 1h, .place = place}};
}

// All are held until shortly before now, so that others can queue.
std::vector<State> rows(Micros tick) {
  std::vector<State> all = {
      {"free", {acquires(-5s, holder, "them", 1h), releases(-1s, holder, "them")}},
  };
  for (const auto& [who, owner, name] :
       {std::tuple(us, "me", "ours"), std::tuple(holder, "them", "theirs")}) {
    const std::string row = name;
    all.push_back({row + " over since a tick",
                   {acquires(-life_until_now - tick, who, owner, life_until_now)},
                   Ends::before});
    all.push_back({row + " ends now", {acquires(-life_until_now, who, owner, life_until_now)}, Ends::at});
    all.push_back({row + " ends in a tick",
                   {acquires(-life_until_now + tick, who, owner, life_until_now)},
                   Ends::after});
    all.push_back({row + " for an hour", {acquires(-5s, who, owner, 1h)}});
    all.push_back({row + " without end", {acquires(-5s, who, owner, never)}});
  }
  return all;
}

constexpr Millis longest_ttl = Millis(never) - 1ms;

// Nobody waits for these.  What became of some was answered on the very connection that asks now.
std::vector<State> lonely_rows() {
  State latest{"ours until the latest end", {acquires(-5s, us, "me", longest_ttl)}};
  for (int times = 0; times < 15; ++times)
    latest.steps.push_back({-5s, {.verb = Verb::renew, .owner = "me", .ttl = longest_ttl, .extend = true}});
  return {latest,
          {"absent"},
          {"freed by us now", {acquires(0s, us, "me", 1h), releases(0s, us, "me")}},
          {"granted to us now", {acquires(0s, us, "me", 1h)}}};
}

constexpr Millis longest_place = 6500ms;

std::vector<State> queues(Micros tick) {
  const auto ours_first = waits(-4500ms, us, "mine too", 20s);
  const auto another = waits(-3500ms, first_waiter, "ann", 5s);
  const auto late = waits(-3500ms, first_waiter, "ann", 1h);
  const auto second = waits(-3s, second_waiter, "bob", 5s);
  const auto ours_last = waits(-2s, us, "mine too", 20s);
  return {{"nobody"},
          {"us", {ours_first}},
          {"us, another", {ours_first, another}},
          {"another", {another}},
          {"another, us", {another, ours_last}},
          {"another over since a tick", {waits(-4s - tick, first_waiter, "ann", 4s)}},
          {"another over now", {waits(-4s, first_waiter, "ann", 4s)}},
          {"another over in a tick", {waits(-4s + tick, first_waiter, "ann", 4s)}},
          {"another over now, a second", {waits(-4s, first_waiter, "ann", 4s), second}},
          {"ours over now, another", {waits(-4s, us, "mine too", 4s), another}},
          {"another as long as allowed", {waits(-4s, first_waiter, "ann", 4s + longest_place)}},
          {"another a tick too long", {waits(-4s + tick, first_waiter, "ann", 4s + longest_place)}},
          {"another too long", {late}},
          {"another too long, a second", {late, second}},
          {"another too long, us", {late, ours_last}}};
}

struct Asked {
  std::string name;
  Ask ask;
};

std::vector<Asked> acquires() {
  std::vector<Asked> all;
  for (const auto& [ttl, length] : {std::pair(Millis(500ms), "short"), std::pair(Millis(2h), "long"),
                                    std::pair(Millis(never), "never")}) {
    for (const Millis place : {Millis(0ms), Millis(30s)}) {
      for (const Millis longest : {Millis(0ms), longest_place}) {
        for (const bool plain : {true, false}) {
          all.push_back({std::string("acquire ") + length + (place > 0ms ? ", place" : "") +
                             (longest > 0ms ? ", longest place" : "") + (plain ? "" : ", detached, note"),
                         {.owner = "me",
                          .ttl = ttl,
                          .place = place,
                          .longest_place = longest,
                          .detached = !plain,
                          .note = plain ? "" : "why"}});
        }
      }
    }
  }
  return all;
}

constexpr std::pair<TokenGiven, const char*> tokens[] = {
    {TokenGiven::none, ""}, {TokenGiven::right, ", its token"}, {TokenGiven::wrong, ", another token"}};

std::vector<Asked> renewals() {
  std::vector<Asked> all;
  for (const auto& [token, which] : tokens) {
    for (const auto& [ttl, length] : {std::pair(Millis(500ms), "short"), std::pair(Millis(2h), "long"),
                                      std::pair(Millis(never), "never"), std::pair(longest_ttl, "longest")}) {
      for (const bool extend : {false, true}) {
        all.push_back({std::string(extend ? "extend " : "renew ") + length + which,
                       {.verb = Verb::renew, .owner = "me", .token = token, .ttl = ttl, .extend = extend}});
      }
    }
  }
  return all;
}

std::vector<Asked> releases() {
  std::vector<Asked> all;
  for (const auto& [token, which] : tokens) {
    for (const Millis place : {Millis(0ms), Millis(1ms)}) {
      all.push_back({std::string("release") + which + (place > 0ms ? ", leave" : ""),
                     {.verb = Verb::release, .owner = "me", .token = token, .place = place}});
    }
  }
  all.push_back({"leave", {.verb = Verb::release, .place = 1ms}});
  return all;
}

std::vector<Asked> evictions() {
  std::vector<Asked> all;
  for (const auto& [token, which] : tokens) {
    if (token == TokenGiven::none) continue;
    all.push_back({std::string("evict") + which,
                   {.verb = Verb::evict, .owner = "operator", .token = token, .note = "stuck"}});
  }
  return all;
}

}  // namespace

std::vector<RuleCase> all_rule_cases(Micros tick) {
  std::vector<RuleCase> cases;
  const auto add = [&](const State& row, const State& queue, const std::vector<Asked>& asked) {
    std::vector<Step> before = row.steps;
    before.insert(before.end(), queue.steps.begin(), queue.steps.end());
    for (const Asked& a : asked)
      cases.push_back({a.name + "; row: " + row.name + "; queue: " + queue.name, row.ends, before, a.ask});
  };
  for (const auto& asked : {acquires(), renewals(), releases(), evictions()}) {
    for (const State& row : rows(tick))
      for (const State& queue : queues(tick)) add(row, queue, asked);
    for (const State& row : lonely_rows()) add(row, queues(tick).front(), asked);
  }
  return cases;
}

}  // namespace holdfast::test
