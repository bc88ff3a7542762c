// SPDX-License-Identifier: Apache-2.0
#include "rows/row_store.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"

namespace holdfast::rows {
namespace {

using namespace std::chrono_literals;

// How long to wait for a locked row.  A lock that lasts longer is not a lease operation but an open
// transaction of some other program, and the other keys must not wait for that.
constexpr Millis together = 500ms, one_by_one = 100ms;

// When to read a row again that another transaction is changing.
constexpr Millis soon = 50ms;

// A share of the time left: 1/shares of it, from 1 ms to `most`.
Millis share_of(Instant until, std::int64_t shares, Millis most) {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return std::clamp(left / shares, Millis(1), most);
}

}  // namespace

Status RowStoreConnection::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return Status{};
  Call call{.requests = requests, .replies = replies, .until = until};
  try {
    ready(until);
    for (std::size_t i = 0; i < requests.size(); ++i) replies[i].error = misfit(requests[i]);
    if (requests.size() > 1 || !settles_alone()) {
      for (core::KeyBatch& key_batch : key_batches_of(requests)) {
        std::erase_if(key_batch, [&](std::size_t i) {
          if (call.stuck.contains(requests[i].key.text))
            give_up(call, i);  // requests for one key take effect in their order
          return replies[i].error.has_value();
        });
        if (!key_batch.empty()) apply_key_batch(call, key_batch);
      }
    } else if (!replies[0].error) {
      apply_alone(call, 0);
    }
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (call.applied) error.code = Errc::in_doubt;
    return error;
  }
  if (requests.size() == 1 && replies[0].error) return *std::move(replies[0].error);
  return Status{};
}

void RowStoreConnection::ready(Instant until) {
  require_time(until);
  if (!ended()) return;
  try {
    connect(until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // no request was sent yet
    throw_failure(std::move(error));
  }
}

void RowStoreConnection::apply_alone(Call& call, std::size_t i) {
  const Settled settled = settle(call, i, share_of(call.until, 2, longest_patience));
  if (settled == Settled::yes) return;
  if (settled == Settled::in_the_way) return meets_lock(call, i);
  core::KeyBatch one = {i};
  apply_key_batch(call, one);
}

void RowStoreConnection::apply_key_batch(Call& call, core::KeyBatch& key_batch) {
  try {
    if (!send_together(call, key_batch)) send_one_by_one(call, key_batch);
  } catch (const NotTaken& refusal) {
    send_halves(call, key_batch, refusal.error());
  }
}

// False: another transaction has locked a row of it.
bool RowStoreConnection::send_together(Call& call, core::KeyBatch& key_batch) {
  while (true) {
    const Settled settled = send_key_batch(call, key_batch, share_of(call.until, 4, together), Locked::wait);
    if (settled == Settled::yes) call.applied = true;
    if (settled != Settled::not_yet) return settled == Settled::yes;
    require_time(call.until);
  }
}

// So that only the requests whose row is locked are not applied.
void RowStoreConnection::send_one_by_one(Call& call, const core::KeyBatch& key_batch) {
  for (std::size_t k = 0; k < key_batch.size(); ++k) {
    core::KeyBatch one = {key_batch[k]};
    Settled settled = Settled::not_yet;
    while (settled == Settled::not_yet) {
      require_time(call.until);
      const auto left = static_cast<std::int64_t>(key_batch.size() - k);
      try {
        settled = send_key_batch(call, one, share_of(call.until, 2 * left + 1, one_by_one), Locked::skip);
      } catch (const NotTaken& refusal) {
        call.replies[key_batch[k]].error = refusal.error();
        break;
      }
    }
    if (settled == Settled::yes) call.applied = true;
    if (settled == Settled::in_the_way) meets_lock(call, key_batch[k]);
  }
}

// The database has undone the whole key batch.  Halving finds one bad request among 500 with 18 more
// statements, and not with 500.
void RowStoreConnection::send_halves(Call& call, const core::KeyBatch& key_batch, const Error& why) {
  if (key_batch.size() == 1) {
    call.replies[key_batch.front()].error = why;
    return;
  }
  const auto middle = key_batch.begin() + static_cast<std::ptrdiff_t>(key_batch.size() / 2);
  for (core::KeyBatch half :
       {core::KeyBatch(key_batch.begin(), middle), core::KeyBatch(middle, key_batch.end())}) {
    require_time(call.until);
    apply_key_batch(call, half);
  }
}

void RowStoreConnection::answer_as_seen(Call& call, std::size_t i, const core::Row& row, bool all) const {
  const Request& r = call.requests[i];
  Reply& reply = call.replies[i];
  const bool theirs = is_theirs(row, r);
  if (r.verb == Verb::renew) {
    // The owner still holds it, until the same end as before: that is as good as a renewal a little earlier.
    // Not if the request extends the lease.
    if (theirs && all && !r.extend) return core::answer(reply, Verdict::granted, row);
    if (!theirs) return core::answer(reply, Verdict::lost, row);
  }
  // Busy for other owners.  An owner that holds the key already needs a new grant, which the lock prevents.
  if (r.verb == Verb::acquire && !theirs) {
    core::answer(reply, Verdict::busy, row);
    if (row.live()) return;
    reply.owner = "(a transaction that has its row locked)";
    reply.remaining = soon;
    return;
  }
  give_up(call, i);
}

void RowStoreConnection::meets_lock(Call& call, std::size_t i) {
  const Verb verb = call.requests[i].verb;
  verb == Verb::acquire || verb == Verb::renew ? answer_locked(call, i) : give_up(call, i);
}

void RowStoreConnection::give_up(Call& call, std::size_t i) const {
  const std::string_view key = call.requests[i].key.text;
  call.stuck.insert(key);
  call.replies[i].error = {Errc::unavailable,
                           where() + ": timed out waiting for the row of " + printable(key) +
                               ": an open transaction has locked it, or the server is slow"};
}

void RowStoreConnection::require_time(Instant until) {
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
}

Error RowStoreConnection::does_not_fit(std::string_view text, std::size_t longest, const char* unit,
                                       const char* column, const std::string& table) {
  return {Errc::refused, "\"" + printable(text) + "\" is longer than the " + std::to_string(longest) + " " +
                             unit + " that the column \"" + column + "\" of the table \"" + table +
                             "\" allows; give a shorter one, or make the column wider"};
}

bool is_theirs(const core::Row& row, const Request& r) noexcept {
  return row.live() && row.owner == r.owner.text &&
         (r.token == no_token || static_cast<std::int64_t>(to_number(r.token)) == row.token);
}

std::size_t letters_in(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace holdfast::rows
