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

void look_up(Lost& lost, Store& store, const Request& of, Instant latest) {
  const Query query{.what = Query::What::log, .prefix = of.key.text, .exact = true, .limit = far_back};
  const Instant now = BootClock::now();
  const Instant until = std::min(latest, after(now, briefly));
  if (until <= now) return;
  // Without memory to read it the loss is told without its story.
  guarded([&] {
    if (const auto page = store.list(query, until)) core::look_up(lost, *page, of.holder, of.token);
  });
}

Lost why_lost(Store& store, const Hold& hold, const Reply& reply, Instant latest) {
  Lost lost = core::lost_by(reply, {hold.holder}, hold.token);
  look_up(lost, store, {.verb = Verb::renew, .key = {hold.key}, .holder = {hold.holder}, .token = hold.token},
          latest);
  return lost;
}

}  // namespace holdfast
