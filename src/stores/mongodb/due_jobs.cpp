// SPDX-License-Identifier: Apache-2.0
// Which job is next, and which one waits for a lock.
#include <algorithm>

#include "stores/mongodb/indexes.h"
#include "stores/mongodb/job_terms.h"
#include "stores/mongodb/jobs.h"
#include "stores/mongodb/pipelines/job_due.json.h"
#include "stores/mongodb/pipelines/job_scout.json.h"
#include "stores/mongodb/pipelines/job_take.json.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

// One claim makes at most so many due.
constexpr std::int64_t most_woken = 100;
// An idle worker looks into at most so many priorities to say until when it may sleep.
constexpr int most_priorities = 8;

// What makes a job due, whatever it waited for.
const Document& due_now() {
  static const Document& text = Document::for_ever(job_due_json);
  return text;
}

}  // namespace

Jobs::Woken Jobs::woken(Queues queues) {
  Document match = in_queues(queues);
  match.document("wake_at", is_there(true)).document("$expr", has_come("wake_at"));
  Document command;
  command.text("find", name()).document("filter", match).text("hint", wake_index);
  command.document("projection", Document().number("state", 1).number("taker", 1));
  command.document("sort", Document().number("wake_at", 1));
  command.number("limit", most_woken).number("batchSize", most_woken).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  Woken woken;
  for (const View job : found_in(reply)) {
    const bool waited = job.text("state") == to_string(JobState::queued) && job.text("taker").empty();
    (waited ? woken.due : woken.abandoned).push_back(JobId{static_cast<std::uint64_t>(job.number("_id"))});
  }
  return woken;
}

void Jobs::make_due(const std::vector<JobId>& due) {
  Document match;
  match.document("_id", numbers_in(due)).text("state", to_string(JobState::queued));
  match.document("taker", is_there(false)).document("wake_at", is_there(true));
  match.document("$expr", has_come("wake_at"));
  (void)update(match, due_now(), {}, true);
}

std::optional<KeptJob> Jobs::take(const Document& filter, const char* hint, std::string_view taker,
                                  Millis length) {
  static const Document& text = Document::for_ever(job_take_json);
  Document command;
  command.text("findAndModify", name()).document("query", filter);
  if (hint != nullptr) command.text("hint", hint).document("sort", in_order());
  add_pipeline(command, "update", text);
  command.document("let", Constants(true).text("taker", taker).length("length", length).all());
  command.document("fields", job_fields()).flag("new", true);
  return modify(std::move(command), Effect::begins);
}

std::optional<KeptJob> Jobs::take_next(Queues queues, std::string_view taker, Millis length) {
  Document match = in_queues(queues);
  match.flag("ready", true).document("$expr", has_come("run_at"));
  return take(match, ready_index, taker, length);
}

std::optional<KeptJob> Jobs::take_over(JobId id, std::string_view taker, Millis length) {
  Document match = by_id(id);
  match.document("wake_at", is_there(true)).document("$expr", has_come("wake_at"));
  return take(match, nullptr, taker, length);
}

Millis Jobs::idle(Queues queues, Micros& now) {
  std::optional<Micros> next;
  now = Micros::zero();
  const auto first = [&](Document match, const char* hint, const Document& sort, const char* field) {
    Document command;
    command.text("find", name()).document("filter", match).text("hint", hint).document("sort", sort);
    Document fields;
    fields.number(field, 1).number("priority", 1).text("now", "$$NOW");
    command.document("projection", fields).number("limit", 1).flag("singleBatch", true);
    const Document reply = connection_.run(std::move(command), Effect::reads, until_);
    std::optional<std::int64_t> priority;
    for (const View job : found_in(reply)) {
      const auto at = job.moment(field);
      if (at && (!next || *at < *next)) next = at;
      now = std::max(now, job.moment("now").value_or(Micros::zero()));
      priority = job.number("priority");
    }
    return priority;
  };
  (void)first(std::move(in_queues(queues).document("wake_at", is_there(true))), wake_index,
              Document().number("wake_at", 1), "wake_at");
  // The earliest of each priority: what comes first in the index is not what is due first.
  for (const std::string& queue : queues) {
    std::optional<std::int64_t> last;
    for (int i = 0;; ++i) {
      Document match;
      match.text("queue", queue).flag("ready", true);
      if (last) match.document("priority", Document().number("$gt", *last));
      last = first(std::move(match), ready_index, in_order(), "run_at");
      if (!last) break;
      if (i < most_priorities) continue;
      next = std::min(next.value_or(Micros::max()), now + core::scout_pause);  // who knows
      break;
    }
  }
  if (now == Micros::zero()) now = server_time(connection_, until_);
  if (!next) return core::longest_idle;
  return std::clamp(std::chrono::ceil<Millis>(*next - now), Millis::zero(), core::longest_idle);
}

// -- those that wait for a lock

std::optional<KeptJob> Jobs::first_waiting(std::string_view key) {
  Document command;
  command.text("find", name()).document("filter", Document().text("waits_for", key));
  command.text("hint", waits_index).document("sort", in_order()).document("projection", job_fields());
  command.number("limit", 1).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  const auto found = found_in(reply);
  return found.empty() ? std::nullopt : std::optional(kept_job(found.front()));
}

void Jobs::send_out(const KeptJob& waiting) {
  if (waiting.record.row.due_at <= waiting.moment().wall + core::scout_pause) return;  // it does already
  static const Document& text = Document::for_ever(job_scout_json);
  Document match = by_id(waiting.record.row.id);
  match.text("waits_for", waiting.record.row.key);
  (void)update(match, text, Constants(false).length("pause", core::scout_pause).all(), false);
}

bool Jobs::make_due(const KeptJob& waiting) {
  Document match = by_id(waiting.record.row.id);
  match.text("waits_for", waiting.record.row.key);
  return update(match, due_now(), {}, false);
}

}  // namespace holdfast::mongodb
