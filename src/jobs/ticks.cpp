// SPDX-License-Identifier: Apache-2.0
#include "jobs/ticks.h"

#include "base/text.h"
#include "jobs/jobs_state.h"

namespace holdfast {
namespace {

constexpr std::size_t longest_tick = 512;

}  // namespace

// The name may contain a key with a prefix, and must fit into a column.
Status jobs::check_tick(std::string_view name) {
  if (name.size() <= longest_tick) return Status{};
  return Error{
      Errc::invalid,
      "\"" + printable(name) +
          "\" is too long: a key that has a window or a tick may have at most 505 bytes; give a shorter one"};
}

Result<EnqueueResult> Ticks::enqueue(const Jobs& of, std::string_view name, const Args& args,
                                     const JobOptions& options, const Tick& tick) {
  return of.enqueue_with_tick(name, args, options, tick);
}

Result<TickRow> Ticks::take(const Jobs& of, const Tick& tick) {
  if (Status s = jobs::check_tick(tick.name); !s) return std::move(s).error();
  const Instant until = jobs::soon();
  return of.state_->ask(until, [&](JobEngine& engine) { return engine.take_tick(tick, until); });
}

Result<TickRow> Ticks::last(const Jobs& of, std::string_view name) {
  const Instant until = jobs::soon();
  return of.state_->ask(until, [&](JobEngine& engine) { return engine.tick(name, until); });
}

Status Ticks::note_success(const Jobs& of, std::string_view name, std::string_view by) {
  if (Status s = jobs::check_tick(name); !s) return s;
  const Instant until = jobs::soon();
  return of.state_->ask(until, [&](JobEngine& engine) { return engine.note_success(name, by, until); });
}

}  // namespace holdfast
