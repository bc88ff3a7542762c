// SPDX-License-Identifier: Apache-2.0
// observer.h - events of a client, for metrics, traces and logs.
//
//   struct Losses : holdfast::Observer {
//     void on_lost(const holdfast::LostEvent& event) override { ++count; }
//     std::atomic<int> count = 0;
//   };
//   const auto losses = std::make_shared<Losses>();
//   auto client = holdfast::open(url, {.observer = losses});
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "holdfast/clock.h"
#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

struct Lost;                         // lease.h
enum class Released : std::uint8_t;  // lease.h
struct JobEvent;                     // job_worker.h

// The fields of all events about a lease.  Texts and references of an event are valid until the function that
// gets it returns.
struct LeaseEvent {
  std::string_view store;  // as Client::store_name() returns it
  std::string_view key;
  std::string_view owner;
  Token token{};  // none: nothing was granted
};

struct AcquiredEvent : LeaseEvent {
  Millis waited{};   // from the call to the grant
  int attempts = 1;  // acquires that were sent for it
};

struct NotAcquiredEvent : LeaseEvent {
  const Error& error;  // busy, timeout, unavailable, ...
  Millis waited{};
};

struct RenewedEvent : LeaseEvent {
  Instant deadline{};  // the new one
};

struct LostEvent : LeaseEvent {
  const Lost& lost;
};

struct ReleasedEvent : LeaseEvent {
  // None: the store has not answered yet, and the client tries again; or another Lease object of this client
  // still holds the grant.
  std::optional<Released> found = {};
};

// A request failed, and is sent again.
struct RetryEvent : LeaseEvent {
  enum class What : std::uint8_t { acquire, renew, release };
  What what{};
  int attempt = 1;  // of the one that failed, counted from 1
  const Error& error;
};
HOLDFAST_API const char* to_string(RetryEvent::What) noexcept;

enum class StoreOperation : std::uint8_t {
  connect,  // opening a connection
  apply,    // a batch of acquires, renewals and releases
  list,     // reading leases, places or the log
  examine,  // reading what the store can do, when it is opened
  init,     // creating tables
  purge,    // deleting keys that have been free for long
  jobs,     // any call about jobs
};
HOLDFAST_API const char* to_string(StoreOperation) noexcept;

// A call of the store: as a rule one round trip.
struct StoreCallEvent {
  std::string_view store;
  StoreOperation operation{};
  std::size_t requests = 0;  // apply: how many were sent together
  Micros took{};
  const Error* error = nullptr;  // null: the store answered
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };
HOLDFAST_API const char* to_string(LogLevel) noexcept;

struct LogField {
  std::string_view name;  // "store", "key", "owner", "token", "error", "topic", "schedule"
  std::string_view value;
};

// A line for people: one sentence, without secrets.  The fields repeat its details, for programs.
struct LogRecord {
  LogLevel level{};
  std::string_view text;
  std::span<const LogField> fields = {};

  operator std::string_view() const noexcept { return text; }  // NOLINT: implicit on purpose
};

// Override what you need.  Each function may be called on any thread, and on several at once, but never under
// a lock of the client.  It must be short: the call that it reports does not return until it has returned,
// and renewals wait for it.  Its exceptions are ignored.  No function is called after the client and its
// leases are destroyed.
//
// For each on_acquired there is exactly one on_lost or on_released of the same key and token, unless the
// lease is detached.  An on_lost may come before its on_acquired: they are called on different threads.  The
// locks of jobs are leases too. on_jeopardy and on_lost run on the thread that also runs Lease::on_lost, and
// may come later than the stop of the lease.
class HOLDFAST_API Observer {
 public:
  virtual ~Observer();

  virtual void on_acquired(const AcquiredEvent&) {}
  // Not for Errc::invalid and Errc::forked, which are mistakes of the caller.
  virtual void on_not_acquired(const NotAcquiredEvent&) {}
  virtual void on_renewed(const RenewedEvent&) {}
  // As Lease::on_jeopardy.
  virtual void on_jeopardy(const LeaseEvent&) {}
  virtual void on_lost(const LostEvent&) {}
  virtual void on_released(const ReleasedEvent&) {}
  virtual void on_retry(const RetryEvent&) {}
  // Not for the calls of an Admin.  It must not use the client: that would be another call.
  virtual void on_store_call(const StoreCallEvent&) {}
  // The events that WorkerOptions::on_event gets, from all workers of the client.
  virtual void on_job(const JobEvent&) {}
  // The lines that ClientOptions::log and on_finding get.
  virtual void on_log(const LogRecord&) {}
};

}  // namespace holdfast
