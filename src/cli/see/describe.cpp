// SPDX-License-Identifier: Apache-2.0
#include "cli/see/describe.h"

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/see/changes.h"
#include "cli/words/nearest.h"
#include "cli/words/values.h"

namespace holdfast::cli {
namespace {

std::string lasts(const LeaseRow& row) {
  if (row.remaining == never) return "without end";
  return "for another " + format_duration(row.remaining) +
         (row.detached ? ", detached: not renewed automatically" : ", longer if renewed");
}

std::string since_of(const LeaseRow& row, Moment now) {
  if (!row.since) return "unknown";
  return format_wall(*row.since) + (now < *row.since ? "" : ", " + age_of(row, now) + " ago");
}

std::string event_of(const LogRow& row) {
  return row.event + (row.by.empty() ? "" : " by " + short_owner(row.by)) +
         (row.reason.empty() ? "" : ": " + row.reason) + " (was held by " + short_owner(row.owner) + ")";
}

void add_owner(Rows& rows, const LeaseRow& lease, Moment now) {
  rows.push_back({"held by", lease.owner});
  if (const auto where = whereabouts(lease.owner)) {
    rows.push_back({"host", where->host});
    rows.push_back({"pid", where->pid});
  }
  rows.push_back({"since", since_of(lease, now)});
  rows.push_back({"lasts", lasts(lease)});
}

}  // namespace

std::optional<Millis> held_for(const LeaseRow& row, Moment now) {
  if (!is_held(row) || !row.since) return std::nullopt;
  return std::chrono::floor<Millis>(std::max(now - *row.since, Micros::zero()));
}

std::string age_of(const LeaseRow& row, Moment now) {
  const auto age = held_for(row, now);
  return age ? format_duration(*age) : "-";
}

std::string left_of(const LeaseRow& row) {
  if (!is_held(row)) return "-";
  return row.remaining == never ? "no end" : format_duration(row.remaining);
}

std::string after_break(const LeaseRow& row) {
  if (row.detached)
    return "the lease is detached: its holder learns of the break when it next renews or releases";
  if (row.remaining == never)
    return "the lease has no end, so its holder never asks the store and learns of the break only when it "
           "releases";
  // It may have renewed since the row was read.
  const Millis longest = std::max(row.remaining, row.ttl.value_or(row.remaining));
  return "the old holder may run until its next renewal (usually within ttl/3), at most for another " +
         format_duration(longest);
}

std::string who(const std::string& owner) { return printable(short_owner(owner)); }
std::string because(const std::string& detail) { return detail.empty() ? "" : ": " + printable(detail); }
std::string with_token(Token token) {
  return token == no_token ? "" : ", token " + std::to_string(to_number(token));
}

bool is_known(const Inspection& found) {
  return is_held(found.lease) || !found.lease.owner.empty() || found.lease.token != no_token ||
         !found.log.empty() || !found.places.empty();
}

void suggest_held_key(Admin& store, const std::string& unknown) {
  // Among more keys than this, the nearest name is a poor guess.
  const auto page = store.try_list({.free = false, .limit = 1000});
  if (!page) return;  // the question itself was answered
  std::vector<std::string> held;
  for (const LeaseRow& row : page->leases) {
    if (is_held(row)) held.push_back(row.key);
  }
  const std::string meant = nearest(unknown, held);
  if (meant.empty()) return;
  (void)flush_stdout();  // for a reader of both streams: the answer comes first
  complain("the store has no record of " + shown(unknown) + "; did you mean " + shown(meant) +
           ", which is held?");
}

Rows rows_of(const Inspection& found, Moment now) {
  const LeaseRow& lease = found.lease;
  const bool held = is_held(lease);
  Rows rows{{"key", lease.key}};
  if (held)
    add_owner(rows, lease, now);
  else
    rows.push_back({"free", !is_known(found)      ? std::string("nobody holds it, and ") + nothing_known
                            : lease.owner.empty() ? "nobody holds it"
                                                  : "the lease expired; the last holder was " + lease.owner});
  if (lease.token != no_token)
    rows.push_back({held ? "token" : "last token", std::to_string(to_number(lease.token))});
  else if (held)
    rows.push_back({"token", "none: the holder is another program, which gives no token"});
  if (!lease.note.empty()) rows.push_back({"note", lease.note});
  for (std::size_t i = 0; i < found.places.size(); ++i)
    rows.push_back({"waiting " + std::to_string(i + 1), short_owner(found.places[i].owner)});
  for (const LogRow& row : found.log) rows.push_back({format_wall(row.at), event_of(row)});
  return rows;
}

}  // namespace holdfast::cli
