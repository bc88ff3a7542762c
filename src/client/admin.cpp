// SPDX-License-Identifier: Apache-2.0
#include "holdfast/admin.h"

#include <algorithm>
#include <stop_token>

#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "client/client_state.h"
#include "client/connection.h"
#include "client/queries.h"
#include "core/check.h"
#include "core/timing.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_admin_call = 5s;
constexpr Millis one_read = 500ms;
constexpr Millis one_purge = 10min, one_diagnosis = 20s;
constexpr Millis first_pause = 20ms, longest_pause = 500ms;
constexpr Millis without_answer = 10s;  // a wait survives a restart of the store, but not a longer outage

Instant in_one_admin_call() { return clamped_add(BootClock::now(), one_admin_call); }

Status check_why(const Break& why) {
  if (Status s = check_owner(why.by); !s) return s;
  if (why.reason.empty())
    return Error{Errc::invalid, "breaking a lease requires a reason, which its holder will see; give one"};
  return check_text(why.reason, "the reason");
}

}  // namespace

struct Admin::State {
  State(std::shared_ptr<Store> o, bool f) : store(std::move(o)), forked(f), connection(store) {}

  Status check_not_forked() const {
    if (!forked && !page.in_child()) return Status{};
    return Error{Errc::forked, "this Admin was made by the parent process; make another one after fork()"};
  }
  // Returns that error, or the result of `call`.
  template <class Call>
  auto unless_forked(Call call) -> decltype(call()) {
    if (Status s = check_not_forked(); !s) return std::move(s).error();
    return call();
  }
  Result<LeaseRow> read(std::string_view key, Instant until = in_one_admin_call()) {
    return read_lease(connection, {key}, until);
  }

  const ForkPage page;
  const std::shared_ptr<Store> store;
  const bool forked;  // the client that this was made from belongs to the parent process
  Connection connection;
};

Admin::Admin(const Client& client)
    : state_(std::make_unique<State>(client.state_->store(), client.state_->forked())) {}
Admin::Admin(std::shared_ptr<Store> store) : state_(std::make_unique<State>(std::move(store), false)) {}
Admin::Admin(Admin&&) noexcept = default;

Admin& Admin::operator=(Admin&& other) noexcept {
  Admin old(std::move(other));  // its destructor gets what this object held
  std::swap(state_, old.state_);
  return *this;
}

Admin::~Admin() {
  // In a forked child: the connection belongs to the parent, and closing our copy of it could end it for
  // both.
  if (state_ && !state_->check_not_forked()) (void)state_.release();
}

Result<Page> Admin::try_list(const Query& query) {
  return state_->unless_forked([&] {
    auto page = state_->connection.list(query, in_one_admin_call());
    if (page) report_remaining(*page);
    return page;
  });
}

Result<Traits> Admin::try_examine() {
  return state_->unless_forked([&] { return state_->connection.examine(in_one_admin_call()); });
}

Result<Diagnosis> Admin::try_diagnose() {
  return state_->unless_forked(
      [&] { return state_->store->admin()->diagnose(clamped_add(BootClock::now(), one_diagnosis)); });
}

Result<Inspection> Admin::try_inspect(std::string_view key) {
  if (Status s = check_key(key); !s) return std::move(s).error();
  if (Status s = state_->check_not_forked(); !s) return std::move(s).error();
  auto lease = state_->read(key);
  if (!lease) return std::move(lease).error();
  auto places = try_list({.what = Query::What::places, .prefix = key, .exact = true});
  if (!places) return std::move(places).error();
  auto log = try_list({.what = Query::What::log, .prefix = key, .exact = true});
  if (!log) return std::move(log).error();
  return Inspection{*std::move(lease), std::move(places->places), std::move(log->log)};
}

Result<std::string> Admin::try_break_lease(std::string_view key, Token token, Break why) {
  if (Status s = check_key(key); !s) return std::move(s).error();
  if (Status s = check_why(why); !s) return std::move(s).error();
  if (token == no_token)
    return Error{Errc::invalid, "0 is not a token; give the token of the lease to break"};
  if (Status s = state_->check_not_forked(); !s) return std::move(s).error();
  const auto before = state_->read(key);
  if (!before) return before.error();

  const Request evict{
      .verb = Verb::evict, .key = {key}, .owner = {why.by}, .token = token, .note = why.reason};
  Reply reply;
  if (Status s = state_->connection.apply({&evict, 1}, {&reply, 1}, in_one_admin_call()); !s)
    return std::move(s).error();
  if (reply.verdict == Verdict::released) return before->token == token ? before->owner : std::string();
  std::string now = "nobody holds it";
  if (before->remaining > 0ms && before->token == no_token)
    now = "it is held by " + printable(before->owner) +
          ", a program other than Holdfast, so there is no token to give; stop that program, then run "
          "`holdfast release KEY --owner OWNER`, or free the key with that program's own tools";
  else if (reply.remaining > 0ms)
    now = "it is held by " + printable(reply.owner) + " with token " + std::to_string(to_number(reply.token));
  return Error{.code = Errc::lost,
               .detail = printable(key) + " is not held with token " + std::to_string(to_number(token)) +
                         ": " + now + "; nothing was changed",
               .owner = reply.owner,
               .remaining = core::reported(reply.remaining),
               .loss = Loss::gone};
}

Status Admin::try_wait_until_free(std::string_view key, WaitOptions options) {
  if (Status s = check_key(key); !s) return s;
  if (options.wait < 0ms) return Error{Errc::invalid, "the wait is negative; give 0 or more"};
  if (Status s = state_->check_not_forked(); !s) return s;

  const Instant give_up = clamped_add(BootClock::now(), options.wait);
  Wakeup wakeup;
  const std::stop_callback on_stop(options.stop, [&] { wakeup.ring(); });
  Jitter jitter(random_bits());
  LeaseRow row;
  Instant answered = Instant::min();
  for (int times = 0;; ++times) {
    if (options.stop.stop_requested())
      return Error{Errc::stopped, "asked to stop while waiting for " + printable(key)};
    // A call ends with the wait, but always has enough time for a reply.
    const Instant enough = clamped_add(BootClock::now(), options.wait == 0ms ? one_admin_call : one_read);
    auto found = state_->read(key, std::min(in_one_admin_call(), std::max(give_up, enough)));
    const Instant now = BootClock::now();
    if (found) {
      row = *std::move(found);
      if (row.remaining == 0ms) return Status{};
      answered = now;
    } else if (!found.error().retryable() || now > clamped_add(answered, without_answer) || now >= give_up) {
      return std::move(found).error();
    }
    if (now >= give_up) {
      return Error{.code = Errc::timeout,
                   .detail = printable(key) + " is held by " + printable(row.owner),
                   .owner = row.owner,
                   .remaining = row.remaining};
    }
    const Millis pause =
        core::scaled(core::backoff(first_pause, longest_pause, times), 0.75 + jitter.fraction() / 4);
    const Instant end = answered == now ? clamped_add(now, row.remaining) : Instant::max();
    wakeup.wait(std::min({give_up, clamped_add(now, pause), end}));
  }
}

Result<Purged> Admin::try_purge(const Purge& what) {
  if (what.free_for < 0ms || what.log_older_than < 0ms)
    return Error{Errc::invalid, "the age to purge by is negative; give 0 or more"};
  return state_->unless_forked(
      [&] { return state_->store->admin()->purge(what, clamped_add(BootClock::now(), one_purge)); });
}

Result<std::vector<std::string>> Admin::try_plan() {
  return state_->unless_forked([&] { return state_->store->admin()->plan(in_one_admin_call()); });
}

Result<std::vector<std::string>> Admin::try_init() {
  return state_->unless_forked([&] { return state_->store->admin()->init(in_one_admin_call()); });
}

std::string Admin::statements() { return state_->store->admin()->statements(); }

}  // namespace holdfast
