// SPDX-License-Identifier: Apache-2.0
#include "client/why_lost.h"

#include "base/worker.h"
#include "core/verdicts.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr Millis briefly = 100ms;
constexpr std::size_t far_back = 16;  // take-overs and breaks of that key since

}  // namespace

void look_up(Lost& lost, StoreConnection& connection, const Request& of, Instant latest) {
  const Query query{.what = Query::What::log, .prefix = of.key.text, .exact = true, .limit = far_back};
  const Instant now = BootClock::now();
  const Instant until = std::min(latest, clamped_add(now, briefly));
  if (until <= now) return;
  // Without memory to read it the loss is told without its story.
  guarded([&] {
    if (const auto page = connection.list(query, until))
      core::set_reason_from_log(lost, *page, of.owner, of.token);
  });
}

Lost why_lost(StoreConnection& connection, const LeaseState& lease, const Reply& reply, Instant latest) {
  Lost lost = core::lost_by(reply, {lease.owner}, lease.token);
  look_up(lost, connection,
          {.verb = Verb::renew, .key = {lease.key}, .owner = {lease.owner}, .token = lease.token}, latest);
  return lost;
}

}  // namespace holdfast
