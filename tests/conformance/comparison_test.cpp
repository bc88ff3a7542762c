// SPDX-License-Identifier: Apache-2.0
// The same random workload on memory, which is the specification, and on each store: the same answers.
#include <algorithm>
#include <map>

#include "base/random.h"
#include "holdfast/memory.h"
#include "tests/conformance/suite.h"

namespace holdfast::test {
namespace {

constexpr int clients = 3;
constexpr Millis brief_life = 2ms;
constexpr const char* keys[] = {"k", "l", "m", "n"};
constexpr const char* owners[] = {"ann", "bob", "cat", "host:h pid:1 guid:0123456789abcdef0123456789abcdef"};

struct Side {
  explicit Side(TestDatabase& database) {
    for (int i = 0; i < clients; ++i) callers.emplace_back(database);
  }
  std::deque<Caller> callers;
  std::map<std::string, Token> last;  // token of each key's last grant
  std::map<std::pair<std::string, std::uint64_t>, int>
      number_of;  // tokens differ in value: compared by their rank
  int rank(const std::string& key, Token t) {
    if (t == no_token) return 0;
    return number_of.emplace(std::pair(key, to_number(t)), static_cast<int>(number_of.size()) + 1)
        .first->second;
  }
};

// A request with its token left open: 0 none, 1 the key's last, 2 a wrong one.
struct Draft {
  Request request;
  int token = 0;
};

class Workload {
 public:
  explicit Workload(std::uint64_t seed) : random_(seed) {}

  // Leases and places are either long or run out before the next batch, so that no answer depends on how
  // fast the machine is.
  std::vector<Draft> batch(bool& wait_after) {
    const bool one = random_.below(2) == 0;
    const std::size_t size = one ? 1 : 2 + random_.below(6);
    wait_after = one && random_.below(4) == 0;
    std::vector<Draft> drafts;
    for (std::size_t i = 0; i < size; ++i) drafts.push_back(draft(wait_after));
    return drafts;
  }
  std::size_t client() { return random_.below(clients); }

 private:
  Draft draft(bool brief) {
    const std::uint64_t verb = random_.below(10);
    const Millis life = brief ? brief_life : random_.below(8) == 0 ? Millis(never) : Millis(1h);
    Draft d{{.verb = verb < 5   ? Verb::acquire
                     : verb < 7 ? Verb::renew
                     : verb < 9 ? Verb::release
                                : Verb::evict,
             .key = {keys[random_.below(std::size(keys))]},
             .owner = {owners[random_.below(std::size(owners))]}},
            static_cast<int>(random_.below(3))};
    switch (d.request.verb) {
      case Verb::acquire:
        d.token = 0;
        d.request.ttl = life;
        if (random_.below(2) == 0)
          d.request.place = brief ? brief_life : Millis(random_.below(3) == 0 ? 2h : 1h);
        if (random_.below(4) == 0) d.request.longest_place = 90min;
        d.request.detached = random_.below(6) == 0;
        if (random_.below(4) == 0) d.request.note = "note";
        break;
      case Verb::renew:
        d.request.ttl = brief ? brief_life : Millis(1h);
        d.request.extend = random_.below(3) == 0;
        break;
      case Verb::release: d.request.place = random_.below(2) == 0 ? 1ms : 0ms; break;
      case Verb::evict:
        if (d.token == 0) d.token = 1;
        d.request.note = "why";
        break;
    }
    return d;
  }
  Jitter random_;
};

std::vector<Reply> apply(Side& side, std::size_t client, const std::vector<Draft>& drafts) {
  std::vector<Request> requests;
  for (const Draft& d : drafts) {
    requests.push_back(d.request);
    const Token last = side.last[std::string(d.request.key.text)];
    if (d.token == 1) requests.back().token = last == no_token ? Token{1} : last;
    if (d.token == 2) requests.back().token = Token{7};
  }
  const std::vector<Reply> replies = side.callers[client].ask_all(requests);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::string key(requests[i].key.text);
    if (requests[i].verb == Verb::acquire && replies[i].verdict == Verdict::granted) {
      EXPECT_GE(replies[i].token, side.last[key]) << "a token fell";
      side.last[key] = replies[i].token;
    }
  }
  return replies;
}

// Everything of an answer that does not depend on the clock.
std::string seen(Side& side, const Request& request, const Reply& reply) {
  // A slow server may use up a brief lease before it answers.
  const bool brief = reply.verdict == Verdict::granted && reply.remaining <= brief_life;
  const char* life = brief                      ? "brief"
                     : reply.remaining == never ? "never"
                     : reply.remaining > 0ms    ? "live"
                                                : "none";
  static constexpr const char* verdicts[] = {"granted", "released", "busy", "lost"};
  return std::string(verdicts[static_cast<int>(reply.verdict)]) + " holder=" + reply.owner + " life=" + life +
         " ahead=" + std::to_string(reply.ahead) + " token#" +
         std::to_string(side.rank(std::string(request.key.text), reply.token));
}

std::string listed(Side& side) {
  std::string text;
  Caller& caller = side.callers[0];
  for (const LeaseRow& row : caller.list({}).leases) {
    text += row.key + "|" + row.owner + "|" + row.note + "|" + (row.detached ? "d" : "-") + "|" +
            std::to_string(row.waiting) + "|" +
            (row.remaining == never ? "never"
             : row.remaining > 0ms  ? "live"
                                    : "free") +
            "\n";
  }
  auto log = caller.list({.what = Query::What::log}).log;
  // Requests for one key take effect in the order given; those for two keys of a batch in any.
  std::stable_sort(log.begin(), log.end(), [](const LogRow& a, const LogRow& b) { return a.key < b.key; });
  for (const LogRow& row : log) {
    text += row.key + "|" + row.event + "|" + row.owner + "|" + row.by + "|" + row.reason + "\n";
  }
  return text;
}

class Comparison : public ::testing::TestWithParam<Kind> {};

TEST_P(Comparison, the_same_random_workload_gives_the_same_answers_as_memory) {
  const std::uint64_t seed = random_bits();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Workload workload(seed);
  const auto reference = all_kinds().front().make();
  const auto database = GetParam().make();
  Side expected(*reference), actual(*database);
  int requests = 0;
  for (int n = 0; n < 600 && !HasFailure(); ++n) {
    bool wait_after = false;
    const auto drafts = workload.batch(wait_after);
    const std::size_t client = workload.client();
    const auto want = apply(expected, client, drafts), got = apply(actual, client, drafts);
    for (std::size_t i = 0; i < drafts.size(); ++i, ++requests) {
      ASSERT_EQ(seen(actual, drafts[i].request, got[i]), seen(expected, drafts[i].request, want[i]))
          << "batch " << n << ", request " << i << ", verb " << static_cast<int>(drafts[i].request.verb)
          << " of " << drafts[i].request.key.text << " by " << drafts[i].request.owner.text << ", client "
          << client;
    }
    if (wait_after) let_pass(5ms);
    // Now and then: what the last leases do not have, earlier ones had.
    if (n % 50 == 49) {
      EXPECT_EQ(listed(actual), listed(expected)) << "after batch " << n;
    }
  }
  RecordProperty("requests", requests);
}

HOLDFAST_ON_EVERY_STORE_AND_SHEDLOCK(Comparison);

}  // namespace
}  // namespace holdfast::test
