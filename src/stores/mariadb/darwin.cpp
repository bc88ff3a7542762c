// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/darwin.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "stores/mariadb/sql.h"

namespace holdfast::mariadb {
namespace {

using namespace std::chrono_literals;

// What no request can have: a name has no NUL in it.
const std::string no_owner(1, '\0');
constexpr Token no_grant{std::numeric_limits<std::uint64_t>::max()};

// Its NOW() has lost its fraction, and what is written loses its too.
std::string lease_until(const core::Record& record, Micros now) {
  if (!record.end) return "'9999-12-31 23:59:59'";
  const auto left = std::chrono::ceil<std::chrono::seconds>(std::max(*record.end - now, Micros::zero()));
  return "NOW() + INTERVAL " + std::to_string(left.count() + 1) + " SECOND";
}

}  // namespace

std::string unlock_key(Token token) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), to_number(token), 16).ptr;
  return std::string(digits, end) + std::string(darwin_suffix);
}

Darwin::Darwin(const Answer& row, core::Record& record, Micros now) : there_(!row.rows.empty()) {
  if (!there_) {
    // Somebody has taken our row away: by instance, or by hand.
    if (record.live(now)) record.end = core::last_end_before(now);
    return;
  }
  foreign_ = row.text(0, 0) != unlock_key(record.token);
  if (!foreign_) return;
  record.owner = std::string(row.text(0, 0)) + " (Darwin)";
  record.end = now + Micros(row.number(0, 1)) + darwin_grace;
  record.since = Micros::zero();
  // Behind its end the next token follows on ours.
  if (!record.live(now)) return;
  // Nobody of ours can pass for its holder, nor break it by a token.
  live_ = std::exchange(record.owner, no_owner);
  record.token = no_grant;
}

void Darwin::correct(core::Outcome& outcome) const {
  if (foreign_ && outcome.log) outcome.log->token = no_token;
  if (live_.empty()) return;
  outcome.reply.owner = live_;
  outcome.reply.token = no_token;
}

std::string Darwin::write(std::string_view key, const core::Record& before, const core::Record& after,
                          Micros now, const Tables& tables) const {
  if (after.owner.empty())
    return tables.sql(Sql::delete_darwin_row,
                      {{"key", tables.key(key)}, {"unlock_key", hex(unlock_key(before.token))}});
  return tables.sql(there_ ? Sql::update_darwin_row : Sql::insert_darwin_row,
                    {{"key", tables.key(key)},
                     {"lease_until", lease_until(after, now)},
                     {"unlock_key", "_utf8mb4 " + hex(unlock_key(after.token))}});
}

}  // namespace holdfast::mariadb
