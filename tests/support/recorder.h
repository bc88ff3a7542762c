// SPDX-License-Identifier: Apache-2.0
// recorder.h - an observer that remembers everything.
#pragma once
#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/holdfast.h"
#include "tests/support/await.h"

namespace holdfast::test {

struct Recorded {
  std::string event, store = {}, key = {}, owner = {};
  Token token{};
  std::string detail = {};  // what else is known of it, in words
  int number = 0;           // attempts, or requests
  Millis waited{};
  Instant deadline{};
  std::vector<std::pair<std::string, std::string>> fields = {};  // of a log record
};

class Recorder : public Observer {
 public:
  std::vector<Recorded> of(std::string_view event, std::string_view detail = {}) const {
    const std::lock_guard lock(mutex_);
    std::vector<Recorded> found;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(found), [&](const Recorded& seen) {
      return seen.event == event && (detail.empty() || seen.detail == detail);
    });
    return found;
  }
  std::size_t count(std::string_view event, std::string_view detail = {}) const {
    return of(event, detail).size();
  }
  bool await(std::string_view event, std::size_t least = 1) const {
    return test::await([&] { return count(event) >= least; });
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

  void on_acquired(const AcquiredEvent& e) override {
    Recorded seen = about("acquired", e);
    seen.number = e.attempts;
    seen.waited = e.waited;
    add(std::move(seen));
  }
  void on_not_acquired(const NotAcquiredEvent& e) override {
    Recorded seen = about("not acquired", e, to_string(e.error.code));
    seen.waited = e.waited;
    add(std::move(seen));
  }
  void on_renewed(const RenewedEvent& e) override {
    Recorded seen = about("renewed", e);
    seen.deadline = e.deadline;
    add(std::move(seen));
  }
  void on_jeopardy(const LeaseEvent& e) override { add(about("jeopardy", e)); }
  void on_lost(const LostEvent& e) override {
    add(about("lost", e, std::string(to_string(e.lost.reason)) + ": " + e.lost.detail));
  }
  void on_released(const ReleasedEvent& e) override {
    add(about("released", e, e.found ? to_string(*e.found) : "no answer"));
  }
  void on_retry(const RetryEvent& e) override {
    Recorded seen = about("retry", e, std::string(to_string(e.what)) + " " + to_string(e.error.code));
    seen.number = e.attempt;
    add(std::move(seen));
  }
  void on_store_call(const StoreCallEvent& e) override {
    add({.event = "store call",
         .store = std::string(e.store),
         .detail = to_string(e.operation) + (e.error ? std::string(" ") + to_string(e.error->code) : ""),
         .number = static_cast<int>(e.requests)});
  }
  void on_job(const JobEvent& e) override {
    add({.event = "job", .key = e.job.key, .owner = e.job.owner, .detail = to_string(e.what)});
  }
  void on_log(const LogRecord& record) override {
    Recorded seen{.event = "log",
                  .detail = std::string(to_string(record.level)) + ": " + std::string(record.text)};
    for (const LogField& field : record.fields) seen.fields.emplace_back(field.name, field.value);
    add(std::move(seen));
  }

 private:
  static Recorded about(std::string event, const LeaseEvent& e, std::string detail = {}) {
    return {.event = std::move(event),
            .store = std::string(e.store),
            .key = std::string(e.key),
            .owner = std::string(e.owner),
            .token = e.token,
            .detail = std::move(detail)};
  }
  void add(Recorded seen) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(seen));
  }

  mutable std::mutex mutex_;
  std::vector<Recorded> all_;
};

}  // namespace holdfast::test
