// SPDX-License-Identifier: Apache-2.0
// client.h - a process's connection to a store.
//
//   auto client = holdfast::open("sqlite:leases.db");
//   auto lease = client.acquire("nightly-report", {.ttl = 30s, .wait = 5s});
//   build_report(lease.stop_token(), lease.token());
#pragma once
#include <concepts>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <variant>

#include "holdfast/detail/fork_safe.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/rows.h"

namespace holdfast {

class Store;  // a database that keeps leases: spi/store.h
// Only detail::ForkSafe calls this.
HOLDFAST_API void leak_if_forked(std::shared_ptr<ClientState>& state) noexcept;

// The result of run(): whether the function ran, and what it returned.
template <class T>
struct Ran {
  bool ran = false;
  std::optional<T> value = {};
  std::string owner = {};  // if it did not run: who holds the key

  explicit operator bool() const noexcept { return ran; }
};

// Cheap to copy; all copies share one store, one keeper and one place in each queue.  Any thread may call
// anything.  Several clients on several stores live side by side.
//
// In a child after fork() every call fails with Errc::forked and nothing is sent: open a new one there.
class HOLDFAST_API Client {
 public:
  // Throws Failure if the store cannot be opened within ClientOptions::connect_wait; try_make returns it.
  explicit Client(std::shared_ptr<Store> store, ClientOptions options = {});
  // The same as holdfast::open() below, which a `using namespace holdfast` can confuse with open(2).
  static Client open(std::string_view url, ClientOptions options = {}) {
    return try_open(url, std::move(options)).value();
  }
  static Result<Client> try_open(std::string_view url, ClientOptions options = {});
  static Result<Client> try_make(std::shared_ptr<Store> store, ClientOptions options = {});

  // Takes a lease on `key`: valid UTF-8 without NUL, 1 to 512 bytes, compared bytewise.
  //
  // Returns at the end of `wait`.  If that is shorter than one attempt (a sixth of the ttl, between 50 ms and
  // 2 s), it may take as long as one attempt.  Busy is an ordinary answer.  A request without a reply is
  // retried.  If its outcome stays unknown, the error is in_doubt, and the client releases in the background
  // what may have been granted.  It does not if you named an `owner`: others may hold the lease by that name.
  Lease acquire(std::string_view key, AcquireOptions options = {}) {
    return try_acquire(key, std::move(options)).value();
  }
  Result<Lease> try_acquire(std::string_view key, AcquireOptions options = {});

  // Acquires, calls fn(lease) or fn(), releases.  Returns whether fn ran (it does not if the key stays busy)
  // and what fn returned.  An exception in fn releases the lease and passes on.  If the lease was lost before
  // fn returned, the outcome is Errc::lost: run() throws LeaseLost, and never reports success.
  template <class F>
  auto run(std::string_view key, AcquireOptions options, F&& fn) {
    return try_run(key, std::move(options), std::forward<F>(fn)).value();
  }
  template <class F>
  auto try_run(std::string_view key, AcquireOptions options, F&& fn);

  // Acquires `key`, however long that takes, and calls fn(stop) or fn(lease, stop).  That token is stopped
  // when the lease is lost or when `stop` is requested, so fn needs to watch only one token.  If the lease
  // was lost, this client becomes a candidate again, and fn is called again when it leads.  Returns when fn
  // has returned without a loss, or when `stop` is requested.  The lease is released by then.
  //
  // If the store cannot be reached, lead() tries again every second.  An error that is not temporary (a
  // refusal, an invalid key) ends it: lead() throws, try_lead() returns the error.  An exception in fn
  // releases the lease and passes on.  `wait` and `stop` of the options are ignored.
  template <class F>
  void lead(std::string_view key, AcquireOptions options, std::stop_token stop, F&& fn) {
    try_lead(key, std::move(options), std::move(stop), std::forward<F>(fn)).value();
  }
  template <class F>
  Status try_lead(std::string_view key, AcquireOptions options, std::stop_token stop, F&& fn);

  // Renew and release by the owner's name, from any object or process: client.release("nightly", {"node-7"}).
  // renew and extend_by return the remaining time, as LeaseRow::remaining.  They never shorten a lease.
  Result<Millis> try_renew(std::string_view key, OwnerView owner, Ttl ttl);
  Result<Millis> try_extend_by(std::string_view key, OwnerView owner, Millis more);
  Result<Released> try_release(std::string_view key, OwnerView owner);
  Millis renew(std::string_view key, OwnerView owner, Ttl ttl) { return try_renew(key, owner, ttl).value(); }
  Millis extend_by(std::string_view key, OwnerView owner, Millis more) {
    return try_extend_by(key, owner, more).value();
  }
  Released release(std::string_view key, OwnerView owner) { return try_release(key, owner).value(); }

  // Releases all leases of `owner` and returns how many there were: for a process that was restarted and
  // releases what it held before.  `owner` is a whole name, not a pattern.  Reads all held keys of the table.
  Result<std::size_t> try_release_all(OwnerView owner);
  std::size_t release_all(OwnerView owner) { return try_release_all(owner).value(); }

  // read(): who holds `key`, since when, and for how much longer.  available(): true if the key is free and
  // has no waiters, or is held by `owner` (by default that of the client's defaults).  Both are for people
  // and logs: the answer may be outdated when you read it.  To decide who works, use try_acquire.
  Result<LeaseRow> try_read(std::string_view key);
  LeaseRow read(std::string_view key) { return try_read(key).value(); }
  Result<bool> try_available(std::string_view key, OwnerView owner = {});
  bool available(std::string_view key, OwnerView owner = {}) { return try_available(key, owner).value(); }

  // A client for another table or collection of the same database.  It is opened once and kept, so each call
  // may choose: client.in("other").acquire("k").
  Client in(std::string_view table) const { return try_in(table).value(); }
  Result<Client> try_in(std::string_view table) const;

  // The store's name for people, without secrets.
  std::string store_name() const;

 private:
  friend class Admin;
  friend struct ClientAccess;
  explicit Client(std::shared_ptr<ClientState> state) noexcept;
  Result<Lease> acquire_to_lead(std::string_view key, AcquireOptions options, const std::stop_token& stop);
  Result<Millis> renew_by(std::string_view key, OwnerView owner, Millis ttl, bool extend);

  detail::ForkSafe<ClientState> state_;
};

// Opens a store by its URL: "sqlite:PATH", or SCHEME://USER@HOST/DATABASE of a server.  Each store's page
// (docs/stores) has its URLs and their parameters, which stand behind `?`.  Throws Failure: Errc::invalid for
// a URL that is malformed, refused or unavailable for a store that cannot be opened within
// ClientOptions::connect_wait, 5 s.
HOLDFAST_API Client open(std::string_view url, ClientOptions options = {});
HOLDFAST_API Result<Client> try_open(std::string_view url, ClientOptions options = {});

// The same without connecting: for an Admin (admin.h), or for several clients.
HOLDFAST_API Result<std::shared_ptr<Store>> try_store(std::string_view url);

template <class F>
auto Client::try_run(std::string_view key, AcquireOptions options, F&& fn) {
  constexpr bool takes_lease = std::is_invocable_v<F&, Lease&>;
  using Returned =
      typename std::conditional_t<takes_lease, std::invoke_result<F&, Lease&>, std::invoke_result<F&>>::type;
  using Value = std::conditional_t<std::is_void_v<Returned>, std::monostate, Returned>;
  using Out = Result<Ran<Value>>;

  auto acquired = try_acquire(key, std::move(options));
  if (!acquired) {
    if (!acquired.error().busy()) return Out(std::move(acquired).error());
    return Out(Ran<Value>{.owner = std::move(acquired).error().owner});
  }
  Lease lease = *std::move(acquired);
  const auto call = [&] {
    if constexpr (takes_lease)
      return fn(lease);
    else
      return fn();
  };
  Ran<Value> ran{.ran = true};
  if constexpr (std::is_void_v<Returned>)
    call(), ran.value.emplace();
  else
    ran.value.emplace(call());
  // fn may have released it.  The release asks the store whether the lease was broken or taken meanwhile.
  if (lease.held()) (void)lease.try_release();
  const Lost lost = lease.lost();
  if (lost.reason == Loss::none) return Out(std::move(ran));
  return Out(
      Error{.code = Errc::lost,
            .detail = "the lease on " + std::string(key) + " was lost before the work ended: " + lost.detail,
            .loss = lost.reason});
}

template <class F>
Status Client::try_lead(std::string_view key, AcquireOptions options, std::stop_token stop, F&& fn) {
  while (true) {
    auto acquired = acquire_to_lead(key, options, stop);
    if (!acquired && acquired.error().code == Errc::stopped) return {};
    if (!acquired) return std::move(acquired).error();
    Lease lease = *std::move(acquired);
    std::stop_source either;
    const auto request_stop = [&either] { either.request_stop(); };
    {
      const std::stop_callback when_lost(lease.stop_token(), request_stop), when_asked(stop, request_stop);
      if constexpr (std::is_invocable_v<F&, Lease&, std::stop_token>)
        fn(lease, either.get_token());
      else
        fn(either.get_token());
    }
    // The release asks the store whether it was still ours; fn may have released it.
    if (lease.held()) (void)lease.try_release();
    if (stop.stop_requested() || lease.lost().reason == Loss::none) return {};
  }
}

}  // namespace holdfast
