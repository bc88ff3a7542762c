// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_condition.h"

#include "base/text.h"
#include "base/time.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "holdfast/jobs.h"

namespace holdfast::cli {
namespace {

std::string name_of(const Lease& lease) { return "run:" + std::string(lease.key()); }

std::string ago(Moment then, Moment now) {
  return format_duration(std::chrono::floor<Millis>(std::max(now - then, Micros::zero()))) + " ago";
}

// At most once a day, like warnings about a store: a run that fails may be repeated often.
void warn_implicit(const char* option, const Client& client) {
  const std::string line = "no store was given: using " + client.store_name() +
                           ", a file of this user on this host, so " + option +
                           " does not count runs of other users and hosts; set HOLDFAST_STORE to a store "
                           "that all of them use, or to this one if it is enough";
  if (is_due_today(line)) complain(line);
}

Error not_now(const Lease& lease, const std::string& why) {
  return {Errc::busy, "CMD is not run: " + printable(lease.key()) + why};
}

// We hold the key, so no other run comes between the two calls.
Status take_tick(Millis period, bool implicit, const Client& client, const Lease& lease) {
  const Jobs jobs(client);
  const std::string name = name_of(lease);
  const auto before = jobs.try_tick(name);
  if (!before) return before.error();
  const Millis begins = before->now.time_since_epoch() / Micros(period) * period;
  const auto row =
      jobs.try_take_tick({.name = name, .tick = begins.count(), .period = {}, .by = lease.owner()});
  if (!row) return row.error();
  if (row->taken) {
    if (implicit && !before->at) warn_implicit("--tick", client);
    return Status{};
  }
  return not_now(lease, " was already run in the " + format_duration(period) + " since " +
                            format_wall(Moment(begins)) + ", by " + printable(short_owner(row->by)) + " at " +
                            format_wall(row->at.value_or(Moment{})));
}

Status check_success(Millis every, bool implicit, const Client& client, const Lease& lease) {
  const auto row = Jobs(client).try_tick(name_of(lease));
  if (!row) return row.error();
  if (implicit && !row->success) warn_implicit("--every", client);
  // A success far in the future was recorded while the store's clock was wrong.
  if (!row->success || std::chrono::abs(row->now - *row->success) >= every) return Status{};
  return not_now(lease, " last succeeded at " + format_wall(*row->success) + ", " +
                            ago(*row->success, row->now) + ", and --every is " + format_duration(every));
}

}  // namespace

std::function<Status(const Client&, const Lease&)> admission(const RunCondition& condition, bool implicit) {
  if (condition.tick > Millis::zero())
    return [=](const Client& c, const Lease& l) { return take_tick(condition.tick, implicit, c, l); };
  if (condition.every > Millis::zero())
    return [=](const Client& c, const Lease& l) { return check_success(condition.every, implicit, c, l); };
  return {};
}

void record_success(const Client& client, const Lease& lease, Status confirmed) {
  const Status noted =
      confirmed ? Jobs(client).try_note_success(name_of(lease), lease.owner()) : std::move(confirmed);
  if (!noted)
    complain("cannot record the success of " + printable(lease.key()) + ": " + noted.error().detail +
             "; the next run will not be skipped");
}

}  // namespace holdfast::cli
