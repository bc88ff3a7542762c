// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/store.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"

namespace holdfast::postgres {
namespace {

using namespace std::chrono_literals;

// How long a locked row is waited for.  Whoever locks it for longer is no lease operation but somebody's open
// transaction, and the other keys must not wait for that.
constexpr Millis alone = 1s, together = 500ms, one_by_one = 100ms;

Millis part_of(Instant until, std::int64_t parts, Millis most) {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return std::clamp(left / parts, Millis(1), most);
}

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

PostgresStore::PostgresStore(std::shared_ptr<const Site> site, Instant until)
    : site_(std::move(site)), hello_{.tables = site_->tables}, statements_(site_->tables) {
  connect(until);
}

void PostgresStore::connect(Instant until) {
  auto connection = std::make_unique<Connection>(site_->settings, until);
  Hello hello = say_hello(*connection, site_->tables, until);
  require_complete(hello, site_->name());
  if (hello.pooled) connection->stop_preparing();
  offset_ = {};
  offset_.learn(hello.asked, hello.answered, hello.now);
  uses_ = {};
  statements_ = Statements(hello.tables);
  hello_ = std::move(hello);
  connection_ = std::move(connection);
}

void PostgresStore::ready(Instant until) {
  require_time(until);
  if (!connection_->ended()) return;
  try {
    connect(until);
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // nothing of the caller's was sent yet
    raise(std::move(error));
  }
}

void PostgresStore::require_time(Instant until) {
  if (BootClock::now() >= until)
    raise({Errc::unavailable, "the time for this call was over before it was sent"});
}

// Never cut: two keys would become one.
void PostgresStore::require_fit(std::span<const Request> requests) const {
  if (hello_.longest_key == 0 && hello_.longest_holder == 0) return;
  const auto refuse = [&](const char* column, std::string_view text, std::size_t longest) {
    if (longest == 0 || text.size() <= longest || letters(text) <= longest) return;
    raise({Errc::refused, "\"" + printable(text) + "\" is longer than the " + std::to_string(longest) +
                              " letters that the column \"" + column + "\" of the table \"" +
                              site_->tables.name() +
                              "\" takes; give a shorter one, or make the column wider"});
  };
  for (const Request& r : requests) {
    refuse("key", r.key.text, hello_.longest_key);
    if (r.verb == Verb::acquire) refuse("locked_by", r.holder.text, hello_.longest_holder);
  }
}

Status PostgresStore::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return ok();
  Call call{.requests = requests, .replies = replies, .until = until};
  try {
    ready(until);
    require_fit(requests);
    requests.size() == 1 ? apply_alone(call, 0) : apply_in_waves(call);
    if (call.failed) raise(*std::move(call.failed));
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (call.applied && error.code != Errc::in_doubt) error.code = Errc::in_doubt;
    return error;
  }
  return ok();
}

void PostgresStore::apply_alone(Call& call, std::size_t i) {
  const Settled settled = settle(call, i, part_of(call.until, 2, alone));
  if (settled == Settled::yes) return;
  if (settled == Settled::in_the_way) return answer_locked(call, i);
  Indices one = {i};
  apply_wave(call, one);
}

void PostgresStore::apply_in_waves(Call& call) {
  for (Indices& wave : core::waves(call.requests)) {
    // Not before the one that came first.
    std::erase_if(wave, [&](std::size_t i) { return call.stuck.contains(call.requests[i].key.text); });
    if (wave.empty()) continue;
    apply_wave(call, wave);
    call.applied = true;
  }
}

void PostgresStore::apply_wave(Call& call, Indices& wave) {
  while (true) {
    const Settled settled = send_wave(call, wave, part_of(call.until, 4, together));
    if (settled == Settled::yes) return;
    if (settled == Settled::in_the_way) break;
    require_time(call.until);
  }
  // One by one, so that only those that are locked have to be answered without having been asked.
  const Indices each = wave;
  for (std::size_t k = 0; k < each.size(); ++k) {
    Indices one = {each[k]};
    Settled settled = Settled::not_yet;
    while (settled == Settled::not_yet) {
      require_time(call.until);
      const auto left = static_cast<std::int64_t>(each.size() - k);
      settled = send_wave(call, one, part_of(call.until, 2 * left + 1, one_by_one));
    }
    if (settled == Settled::in_the_way) answer_locked(call, each[k]);
    call.applied = true;
  }
}

}  // namespace holdfast::postgres
