// SPDX-License-Identifier: Apache-2.0
#include "client/queries.h"

#include "base/worker.h"
#include "core/timing.h"
#include "core/verdicts.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_log_query = 100ms;
constexpr std::size_t log_lines = 16;  // take-overs and breaks of the key since the loss

}  // namespace

void report_remaining(Page& page) noexcept {
  for (LeaseRow& row : page.leases) row.remaining = core::reported(row.remaining);
  for (PlaceRow& row : page.places) row.remaining = core::reported(row.remaining);
}

Result<LeaseRow> read_lease(StoreConnection& connection, Key key, Instant until) {
  auto found = connection.list({.prefix = key.text, .exact = true, .limit = 1}, until);
  if (!found) return std::move(found).error();
  report_remaining(*found);
  if (!found->leases.empty()) return std::move(found->leases.front());
  LeaseRow row;
  row.key = key.text;
  return row;
}

void read_loss_reason(Lost& lost, StoreConnection& connection, const Request& of, Instant latest) {
  const Query query{.what = Query::What::log, .prefix = of.key.text, .exact = true, .limit = log_lines};
  const Instant now = BootClock::now();
  const Instant until = std::min(latest, clamped_add(now, one_log_query));
  if (until <= now) return;
  // Without memory for the log the loss is reported without its reason.
  guarded([&] {
    if (const auto page = connection.list(query, until))
      core::set_reason_from_log(lost, *page, of.owner, of.token);
  });
}

Lost why_lost(StoreConnection& connection, const LeaseState& lease, const Reply& reply, Instant latest) {
  Lost lost = core::lost_by(reply, {lease.owner}, lease.token);
  read_loss_reason(lost, connection,
                   {.verb = Verb::renew, .key = {lease.key}, .owner = {lease.owner}, .token = lease.token},
                   latest);
  return lost;
}

}  // namespace holdfast
