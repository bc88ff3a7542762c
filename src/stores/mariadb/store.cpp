// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/store.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"
#include "stores/mariadb/sql/acquire.sql.h"
#include "stores/mariadb/sql/ahead.sql.h"
#include "stores/mariadb/sql/look.sql.h"
#include "stores/mariadb/sql/make.sql.h"
#include "stores/mariadb/sql/read.sql.h"
#include "stores/mariadb/sql/release.sql.h"
#include "stores/mariadb/sql/renew.sql.h"

namespace holdfast::mariadb {
namespace {

using namespace std::chrono_literals;

// How long a locked row is waited for.  Whoever locks it for longer is no lease operation but somebody's open
// transaction, and the other keys must not wait for that.
constexpr Millis alone = 900ms, together = 500ms, one_by_one = 100ms;

Millis part_of(Instant until, std::int64_t parts, Millis most) {
  const auto left = std::chrono::floor<Millis>(until - BootClock::now());
  return std::clamp(left / parts, Millis(1), most);
}

// A statement that may have to wait for a row.
std::string waiting(const Tables& tables, std::string_view sql) { return "{patience}" + tables.expand(sql); }

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

MariaStore::MariaStore(std::shared_ptr<const Site> site, Instant until)
    : site_(std::move(site)),
      acquire_(waiting(site_->tables, acquire_sql)),
      make_(waiting(site_->tables, make_sql)),
      renew_(waiting(site_->tables, renew_sql)),
      release_(waiting(site_->tables, release_sql)),
      look_(site_->tables.expand(look_sql)),
      ahead_(site_->tables.expand(ahead_sql)),
      read_(site_->tables.expand(read_sql)) {
  connect(until);
}

void MariaStore::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*site_, until);
  Hello hello = say_hello(*connection, *site_, until);
  require_complete(hello, *site_);
  offset_ = {};
  offset_.learn(hello.asked, hello.answered, hello.now);
  hello_ = std::move(hello);
  connection_ = std::move(connection);
}

void MariaStore::ready(Instant until) {
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

void MariaStore::require_time(Instant until) {
  if (BootClock::now() >= until)
    raise({Errc::unavailable, "the time for this call was over before it was sent"});
}

// Never cut: two keys would become one.
void MariaStore::require_fit(std::span<const Request> requests) const {
  const bool darwin = site_->tables.darwin();
  const auto refuse = [&](const char* column, std::size_t size, std::string_view text, std::size_t longest,
                          const char* unit = " bytes") {
    if (size <= longest) return;
    raise({Errc::refused, "\"" + printable(text) + "\" is longer than the " + std::to_string(longest) + unit +
                              " that the column \"" + column + "\" of the table \"" +
                              site_->tables.called("locks") +
                              "\" takes; give a shorter one, or make the column wider"});
  };
  for (const Request& r : requests) {
    refuse("key", darwin ? letters(r.key.text) : r.key.text.size(), r.key.text, hello_.longest_key,
           darwin ? " letters" : " bytes");
    if (r.verb == Verb::acquire)
      refuse("locked_by", r.holder.text.size(), r.holder.text, hello_.longest_holder);
  }
}

std::string MariaStore::wait_at_most(Millis patience) const {
  // MySQL has no such word; there a locked row is waited for a second, as hello.sql says.
  if (!hello_.mariadb()) return {};
  const std::string ms = std::to_string(1000 + std::clamp(patience, Millis(1), alone).count());
  return "SET STATEMENT max_statement_time = 0." + ms.substr(1) + " FOR ";
}

MariaStore::Settled MariaStore::check(const std::optional<Trouble>& trouble) const {
  if (!trouble) return Settled::yes;
  if (was_overtaken(trouble->code)) return Settled::not_yet;
  if (was_locked(trouble->code)) return Settled::in_the_way;
  raise(statement_error(*trouble, site_->name));
}

Status MariaStore::apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) {
  assert(requests.size() == replies.size());
  if (requests.empty()) return ok();
  Call call{.requests = requests, .replies = replies, .until = until};
  try {
    ready(until);
    require_fit(requests);
    requests.size() == 1 && !site_->tables.darwin() ? apply_alone(call, 0) : apply_in_waves(call);
    if (call.failed) raise(*std::move(call.failed));
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (call.applied && error.code != Errc::in_doubt) error.code = Errc::in_doubt;
    return error;
  }
  return ok();
}

void MariaStore::apply_alone(Call& call, std::size_t i) {
  const Settled settled = settle(call, i, part_of(call.until, 2, alone));
  if (settled == Settled::yes) return;
  if (settled == Settled::in_the_way) return answer_locked(call, i);
  apply_wave(call, {i});
}

void MariaStore::apply_in_waves(Call& call) {
  std::vector<Indices> waves = core::waves(call.requests);
  if (site_->tables.darwin()) {
    // Which keys are one is the collation's to say: each travels alone, in the order given.
    waves.clear();
    for (std::size_t i = 0; i < call.requests.size(); ++i) waves.push_back({i});
  }
  for (Indices& wave : waves) {
    // Not before the one that came first.
    std::erase_if(wave, [&](std::size_t i) { return call.stuck.contains(call.requests[i].key.text); });
    if (wave.empty()) continue;
    apply_wave(call, wave);
  }
}

void MariaStore::apply_wave(Call& call, const Indices& wave) {
  while (true) {
    const Settled settled = send_wave(call, wave, part_of(call.until, 4, together), Locked::wait);
    if (settled == Settled::yes) {
      call.applied = true;
      return;
    }
    if (settled == Settled::in_the_way) break;
    require_time(call.until);
  }
  // One by one, so that only those that are locked have to be answered without having been asked.
  for (std::size_t k = 0; k < wave.size(); ++k) {
    Settled settled = Settled::not_yet;
    while (settled == Settled::not_yet) {
      require_time(call.until);
      const auto left = static_cast<std::int64_t>(wave.size() - k);
      settled = send_wave(call, {wave[k]}, part_of(call.until, 2 * left + 1, one_by_one), Locked::skip);
    }
    if (settled == Settled::yes) call.applied = true;
    if (settled == Settled::in_the_way) answer_locked(call, wave[k]);
  }
}

}  // namespace holdfast::mariadb
