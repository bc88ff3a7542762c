// SPDX-License-Identifier: Apache-2.0
// Every store follows core/job_rule.h: random operations have the same results there and in memory, which
// asks those rules.
#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "base/random.h"
#include "tests/engines/suite.h"

namespace holdfast::test {
namespace {

// Sends each operation to both, and records the answers without their times, which differ.
class Side {
 public:
  Side(TestDatabase& database, std::uint64_t seed) : random_(seed), client_(database), worker_(database) {}

  // The same numbers on both sides, so the same is asked.
  std::string step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: return enqueue();
      case 4:
      case 5:
      case 6: return claim();
      case 7:
      case 8: return finish();
      case 9: return change();
      case 10: return lease();
      default: return renew();
    }
  }

  // All jobs, without the moments.
  std::string all() {
    std::ostringstream out;
    for (const JobRow& row : worker_.list({})) tell(out, row);
    return out.str();
  }

 private:
  std::string key() { return std::string(1, static_cast<char>('a' + random_.below(3))); }
  std::string queue() { return random_.below(4) == 0 ? "other" : "default"; }

  // Some stores skip numbers, so jobs are called by the order in which they were enqueued.
  std::string name_of(JobId id) {
    const auto at = std::find(ids_.begin(), ids_.end(), id);
    return at == ids_.end() ? "?" : "#" + std::to_string(at - ids_.begin() + 1);
  }
  // With those names in the place of numbers.
  std::string with_names(const std::string& text) {
    std::string out, digits;
    for (const char c : text + "\n") {
      if (c >= '0' && c <= '9') {
        digits += c;
        continue;
      }
      if (!digits.empty()) out += name_of(JobId{std::stoull(digits)});
      digits.clear();
      out += c;
    }
    return out;
  }

  void tell(std::ostream& out, const JobRow& row) {
    out << name_of(row.id) << " " << row.queue << " " << row.key << " p" << row.priority << " "
        << to_string(row.state) << " attempt " << row.attempt << " crashes " << row.crashes << " slotted "
        << row.slotted << " parked " << row.parked << " holder " << row.owner << " lock " << row.lock
        << " token " << (row.token != no_token) << " error " << row.error << " dups " << row.duplicates
        << " args " << row.args << " due now " << (row.due_at <= row.enqueued_at + 1s) << " over "
        << row.finished_at.has_value() << " claimed " << (row.claim_remaining > 0ms);
    for (const TrailEntry& entry : row.trail) out << " [" << entry.event << " " << entry.detail << "]";
    out << "\n";
  }

  std::string enqueue() {
    const std::string about = key(), where = queue(), args = "[" + std::to_string(random_.below(100)) + "]";
    const std::string tick_name = random_.below(5) == 0 ? "tick-" + about : "";
    const NewJob job{.queue = where,
                     .args = args,
                     .priority = static_cast<int>(random_.below(3)),
                     .in = random_.below(5) == 0 ? Millis(1h) : Millis(0),
                     .lock_ttl = 1h,
                     .limit = static_cast<int>(random_.below(8) == 0   ? 0
                                               : random_.below(4) == 0 ? 2
                                                                       : 1),
                     .on_conflict = static_cast<OnConflict>(random_.below(4)),
                     .unique = static_cast<Unique>(random_.below(4)),
                     .tick_name = tick_name,
                     .tick = static_cast<std::int64_t>(random_.below(4))};
    const EnqueueReply told = worker_.enqueue(about, job);
    if (told.what == EnqueueOutcome::enqueued) ids_.push_back(told.id);
    std::ostringstream out;
    out << "enqueue " << about << " " << static_cast<int>(told.what) << " " << name_of(told.id) << " "
        << to_string(told.state) << " " << told.owner << " " << told.since.has_value();
    return out.str();
  }

  std::string claim() {
    const std::string owner = "w" + std::to_string(++owners_);
    const bool both = random_.below(2) == 0, brief = random_.below(4) == 0 && !has_expired();
    const std::vector<std::string> queues =
        both ? std::vector<std::string>{"default", "other"} : std::vector<std::string>{queue()};
    // With no time at all it has run out before anybody asks again.
    const Claimed told = worker_.claim(owner, brief ? Millis(0) : Millis(1h), queues);
    if (told.what == Got::running || told.what == Got::raised) claims_[owner] = told;
    std::ostringstream out;
    out << "claim " << static_cast<int>(told.what) << " recovered " << told.recovered << " blocker "
        << (told.what == Got::running ? "" : told.blocker) << " lock " << (told.lock_remaining > 0ms)
        << " next " << (told.next > 59s) << " ";  // a job that was parked for a minute has a little less
    if (told.what != Got::nothing) tell(out, told.job);
    return out.str();
  }

  // Which of several comes first whose claims have run out, nobody promises.
  bool has_expired() {
    const auto rows = worker_.list({.state = JobState::running});
    return std::any_of(rows.begin(), rows.end(),
                       [](const JobRow& row) { return row.claim_remaining == 0ms; });
  }

  const Claimed* any_claim() {
    if (claims_.empty()) return nullptr;
    auto it = claims_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(claims_.size())));
    return &it->second;
  }

  std::string finish() {
    const Claimed* claimed = any_claim();
    if (claimed == nullptr) return "";
    static constexpr JobState ends[] = {JobState::done, JobState::done,    JobState::queued,
                                        JobState::dead, JobState::dropped, JobState::cancelled};
    const JobState to = ends[random_.below(6)];
    const Finish how{.in = random_.below(3) == 0 ? Millis(1h) : Millis(0),
                     .counts = random_.below(2) == 0,
                     .error = random_.below(2) == 0 ? "why\nnot" : ""};
    const Finished told = worker_.finish(*claimed, to, how);
    std::ostringstream out;
    out << "finish " << claimed->job.owner << " " << to_string(to) << " " << told.finished << told.released;
    return out.str();
  }

  std::string change() {
    const std::size_t number = random_.below(20);
    const JobId id = number < ids_.size() ? ids_[number] : JobId{1'000'000};
    const auto what = static_cast<JobChange>(random_.below(3));
    const auto told = worker_.change(id, what);
    std::ostringstream out;
    out << "change " << name_of(id) << " " << static_cast<int>(what) << " ";
    if (told)
      tell(out, *told);
    else
      out << with_names(told.error().detail);
    return out.str();
  }

  // A client that uses only leases.
  std::string lease() {
    const std::string about = key() + (random_.below(4) == 0 ? "#1" : "");
    const bool release = random_.below(2) == 0;
    const Request request{
        .verb = release ? Verb::release : Verb::acquire, .key = {about}, .owner = {"operator"}, .ttl = 1h};
    const Reply reply = client_.ask(request);
    return "lease " + about + " " + std::to_string(static_cast<int>(reply.verdict)) + " " + reply.owner;
  }

  std::string renew() {
    const Claimed* claimed = any_claim();
    if (claimed == nullptr) return "";
    return std::string("renew ") +
           (worker_.renew(claimed->job.id, claimed->job.owner, 2h) ? "held" : "not held");
  }

  Jitter random_;
  Caller client_;
  Worker worker_;
  std::map<std::string, Claimed> claims_;
  std::vector<JobId> ids_;  // of all jobs that were enqueued
  int owners_ = 0;
};

class ModelOfJobs : public ::testing::TestWithParam<Kind> {};

// Only runs that took less than a second count: then no parked job has checked its lock by itself.
TEST_P(ModelOfJobs, random_operations_have_the_same_results_as_in_memory) {
  constexpr int longest = 60, least = 100, most = 2'000;  // operations: of a run, and of all that count
  int counted = 0;
  const Instant enough = BootClock::now() + 4s, too_late = enough + 60s;
  while (counted < most && BootClock::now() < (counted < least ? too_late : enough)) {
    const std::uint64_t seed = random_bits();
    const auto database = GetParam().make(), memory = kinds_named({"memory"}).front().make();
    Side store(*database, seed), model(*memory, seed);
    const Instant begin = BootClock::now();
    std::string history, told, expected;
    int steps = 0;
    for (; steps < longest && told == expected && BootClock::now() - begin < 700ms; ++steps) {
      history += expected;
      told = store.step() + "\n" + store.all();
      expected = model.step() + "\n" + model.all();
    }
    if (BootClock::now() - begin > 900ms && told != expected) continue;
    ASSERT_EQ(told, expected) << "seed " << seed << ", behind\n" << history;
    counted += steps;
  }
  EXPECT_GE(counted, least) << "the machine is too busy to compare enough";
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(ModelOfJobs);

}  // namespace
}  // namespace holdfast::test
