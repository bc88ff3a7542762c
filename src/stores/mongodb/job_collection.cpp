// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/job_collection.h"

#include <algorithm>

#include "stores/mongodb/admin.h"
#include "stores/mongodb/jobs.json.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

constexpr const char* counter = "jobs";
// One claim makes at most so many jobs due.
constexpr std::size_t most_woken = 100;
// Of those that wait for a lock, at most so many that are due, and check it anyway, are passed over.
constexpr std::int64_t most_passed_over = 100;
// An idle worker reads at most so many priorities to find out how long it may sleep.
constexpr int most_priorities = 8;

Document& add_pipeline(Document& command, std::string_view field, const char* name) {
  static const Document& text = Document::for_ever(jobs_json);
  return command.array(field, View(text)[name].as_bson());
}

Document compared_with_now(const char* how, const char* field) {
  return Document::from_json(R"({")" + std::string(how) + R"(": ["$)" + field + R"(", "$$NOW"]})");
}
Document has_come(const char* field) { return compared_with_now("$lte", field); }
Document is_to_come(const char* field) { return compared_with_now("$gt", field); }

Document in_queues(std::span<const std::string> queues) {
  Document in, match;
  in.texts("$in", {queues.begin(), queues.end()});
  return std::move(match.document("queue", in));
}

Document numbers_in(const std::vector<JobId>& ids) {
  Document list, in;
  std::size_t i = 0;
  for (const JobId id : ids) list.number(std::to_string(i++), kept(id));
  return std::move(in.array("$in", list.get()));
}

Document is_there(bool there) { return std::move(Document().flag("$exists", there)); }

Document in_order() {
  return std::move(Document().number("priority", 1).number("run_at", 1).number("_id", 1));
}

Document still_waiting(const KeptJob& job) {
  return std::move(by_id(job.record.row.id).text("waits_for", job.record.row.key));
}

// A claim that is still its owner's, and about which nobody is deciding.
Document claim_of(const ClaimRef& claim) {
  Document match = by_id(claim.id);
  match.text("state", to_string(JobState::running)).text("holder", claim.owner.text);
  return std::move(match.document("taker", is_there(false)));
}

}  // namespace

// Somebody may be writing the same document: then the command is sent again.
Document JobCollection::write(const Document& command, Effect effect) {
  while (true) {
    try {
      Document reply = connection_.run(Document::copy_of(View(command)), effect, until_);
      if (View(reply).number("n") > 0 || View(reply)["value"]) applied_ = true;
      return reply;
    } catch (const Failure& failure) {
      if (!is_collision(connection_.last_code())) throw;
    }
  }
}

std::optional<KeptJob> JobCollection::modify(Document command, Effect effect) {
  const Document reply = write(command, effect);
  const View value = View(reply)["value"];
  return value ? std::optional(kept_job(value)) : std::nullopt;
}

bool JobCollection::update(const Document& match, const char* pipeline, const Document& constants,
                           bool many) {
  Document one;
  one.document("q", match);
  add_pipeline(one, "u", pipeline).document("c", constants).flag("multi", many);
  const Document reply = write(update_command(name(), std::move(one)), Effect::begins);
  throw_write_errors(reply, connection_.config());
  return View(reply).number("n") > 0;
}

// -- to enqueue

// An id that is not used is no loss, so this does not count as applied.
JobCollection::Fresh JobCollection::next_id() {
  while (true) {
    Document command;
    command.text("findAndModify", connection_.config().remains());
    command.document("query", Document().text("_id", counter));
    command.document("update", Document().document("$inc", Document().number("last", 1)));
    command.document("fields", Document().number("last", 1).text("now", "$$NOW"));
    command.flag("new", true).flag("upsert", true);
    try {
      const Document reply = connection_.run(std::move(command), Effect::begins, until_);
      const View value = View(reply)["value"];
      return {.id = JobId{static_cast<std::uint64_t>(value.number("last"))},
              .now = value.moment("now").value_or(Micros::zero())};
    } catch (const Failure& failure) {
      if (!is_collision(connection_.last_code())) throw;
    }
  }
}

void JobCollection::skip_ids() {
  const auto newest = list({.limit = 1});
  const std::int64_t last = newest.empty() ? 0 : kept(newest.front().record.row.id);
  Document one;
  one.document("q", Document().text("_id", counter));
  one.document("u", Document().document("$max", Document().number("last", last)));
  (void)connection_.run(update_command(connection_.config().remains(), std::move(one)), Effect::begins,
                        until_);
}

JobCollection::Inserted JobCollection::insert(const KeptJob& job) {
  std::vector<Document> documents;
  documents.push_back(new_job(job));
  Document command;
  command.text("insert", name()).array("documents", documents);
  const Document reply = write(command, Effect::writes);
  for (const View error : View(reply).documents("writeErrors")) {
    if (error.number("code") != 11000) throw_failure(write_error(error, connection_.config()));
    const View index = error["keyPattern"];
    if (index.has("slot")) return Inserted::slot_taken;
    if (index.has("tick_name")) return Inserted::tick_taken;
    if (index.has("_id")) return Inserted::id_taken;
    throw_failure(write_error(error, connection_.config()));  // an index of somebody's own
  }
  return Inserted::yes;
}

// -- to read

Document JobCollection::find_all(const Document& filter, const Document& more, std::size_t limit) {
  return connection_.run(find_command(name(), filter, more, limit), Effect::reads, until_);
}

std::optional<KeptJob> JobCollection::find(const Document& filter, Document more) {
  const Document reply = find_all(filter, more.document("projection", job_fields()), 1);
  const auto found = documents_in(reply);
  return found.empty() ? std::nullopt : std::optional(kept_job(found.front()));
}

std::optional<KeptJob> JobCollection::in_slot(std::string_view key) {
  return find(Document().text("slot", core::slot_of(key)));
}

// A reply holds 16 MB: what did not fit is read with the next command.
std::vector<KeptJob> JobCollection::list(const JobQuery& query) {
  std::vector<KeptJob> all;
  JobId before = query.before;
  Document more;
  more.document("projection", job_fields()).document("sort", Document().number("_id", -1));
  while (all.size() < query.limit) {
    Document match, id;
    id.text("$type", "number");
    if (before != no_job) id.number("$lt", kept(before));
    if (query.id != no_job) id.number("$eq", kept(query.id));
    match.document("_id", id);
    if (!query.key.empty()) match.text("key", query.key);
    if (!query.name.empty()) match.text("name", query.name);
    if (!query.queue.empty()) match.text("queue", query.queue);
    if (query.state) match.text("state", to_string(*query.state));
    const Document reply = find_all(match, more, std::min<std::size_t>(query.limit - all.size(), 1000));
    const auto found = documents_in(reply);
    if (found.empty()) break;
    for (const View document : found) all.push_back(kept_job(document));
    before = all.back().record.row.id;
  }
  return all;
}

// -- to change

JobCollection::Swapped JobCollection::swap(const KeptJob& read, const Document& change) {
  Document one;
  one.document("q", unchanged(read)).document("u", change);
  const Document reply = write(update_command(name(), std::move(one)), Effect::writes);
  for (const View error : View(reply).documents("writeErrors")) {
    if (error.number("code") != 11000) throw_failure(write_error(error, connection_.config()));
    return Swapped::slot_taken;
  }
  return View(reply).number("n") > 0 ? Swapped::yes : Swapped::changed;
}

bool JobCollection::erase(const KeptJob& read) {
  return View(write(delete_command(name(), unchanged(read), 1), Effect::writes)).number("n") > 0;
}

// It conflicts with no other change of the job, so its version stays.
std::optional<KeptJob> JobCollection::count_duplicate(const Document& filter) {
  Document command;
  command.text("findAndModify", name()).document("query", filter);
  command.document("update", Document().document("$inc", Document().number("duplicates", 1)));
  command.document("fields", job_fields()).flag("new", true);
  return modify(std::move(command), Effect::writes);
}

std::size_t JobCollection::prolong(std::span<const ClaimRef> claims) {
  std::vector<Document> updates;
  for (const ClaimRef& claim : claims) {
    Document& one = updates.emplace_back();
    one.document("q", claim_of(claim));
    add_pipeline(one, "u", "renew").document("c", Constants(false).duration("ttl", claim.ttl).all());
  }
  Document command;
  command.text("update", name()).array("updates", updates).flag("ordered", false);
  const Document reply = write(command, Effect::writes);
  throw_write_errors(reply, connection_.config());
  return static_cast<std::size_t>(View(reply).number("n"));
}

std::vector<bool> JobCollection::held(std::span<const ClaimRef> claims) {
  std::vector<Document> any;
  for (const ClaimRef& claim : claims) any.push_back(claim_of(claim));
  const Document reply =
      find_all(Document().array("$or", any), Document().document("projection", Document().number("_id", 1)),
               claims.size());
  std::vector<bool> all(claims.size());
  for (const View job : documents_in(reply)) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      if (job.number("_id") == kept(claims[i].id)) all[i] = true;
  }
  return all;
}

// -- to claim

JobCollection::Woken JobCollection::woken(Queues queues) {
  Document match = in_queues(queues);
  match.document("wake_at", is_there(true)).document("$expr", has_come("wake_at"));
  Document more;
  more.text("hint", wake_index).document("sort", Document().number("wake_at", 1));
  more.document("projection", Document().number("state", 1).number("taker", 1));
  const Document reply = find_all(match, more, most_woken);
  Woken woken;
  for (const View job : documents_in(reply)) {
    const bool waited = job.text("state") == to_string(JobState::queued) && job.text("taker").empty();
    (waited ? woken.due : woken.abandoned).push_back(JobId{static_cast<std::uint64_t>(job.number("_id"))});
  }
  return woken;
}

void JobCollection::make_due(const std::vector<JobId>& due) {
  Document match;
  match.document("_id", numbers_in(due)).text("state", to_string(JobState::queued));
  match.document("taker", is_there(false)).document("wake_at", is_there(true));
  match.document("$expr", has_come("wake_at"));
  (void)update(match, "due", {}, true);
}

std::optional<KeptJob> JobCollection::take(const Document& filter, const char* hint, std::string_view taker,
                                           Millis length) {
  Document command;
  command.text("findAndModify", name()).document("query", filter);
  if (hint != nullptr) command.text("hint", hint).document("sort", in_order());
  add_pipeline(command, "update", "take");
  command.document("let", Constants(true).text("taker", taker).duration("length", length).all());
  command.document("fields", job_fields()).flag("new", true);
  return modify(std::move(command), Effect::begins);
}

std::optional<KeptJob> JobCollection::take_next(Queues queues, std::string_view taker, Millis length) {
  Document match = in_queues(queues);
  match.flag("ready", true).document("$expr", has_come("run_at"));
  return take(match, ready_index, taker, length);
}

std::optional<KeptJob> JobCollection::take_over(JobId id, std::string_view taker, Millis length) {
  Document match = by_id(id);
  match.document("wake_at", is_there(true)).document("$expr", has_come("wake_at"));
  return take(match, nullptr, taker, length);
}

Millis JobCollection::idle(Queues queues, Micros& now) {
  std::optional<Micros> next;
  now = Micros::zero();
  const auto first = [&](const Document& match, const char* hint, const Document& sort, const char* field) {
    Document more, fields;
    fields.number(field, 1).number("priority", 1).text("now", "$$NOW");
    more.text("hint", hint).document("sort", sort).document("projection", fields);
    const Document reply = find_all(match, more, 1);
    std::optional<std::int64_t> priority;
    for (const View job : documents_in(reply)) {
      const auto at = job.moment(field);
      if (at && (!next || *at < *next)) next = at;
      now = std::max(now, job.moment("now").value_or(Micros::zero()));
      priority = job.number("priority");
    }
    return priority;
  };
  (void)first(in_queues(queues).document("wake_at", is_there(true)), wake_index,
              Document().number("wake_at", 1), "wake_at");
  // The earliest of each priority: what comes first in the index is not what is due first.
  for (const std::string& queue : queues) {
    std::optional<std::int64_t> last;
    for (int i = 0;; ++i) {
      Document match;
      match.text("queue", queue).flag("ready", true);
      if (last) match.document("priority", Document().number("$gt", *last));
      last = first(match, ready_index, in_order(), "run_at");
      if (!last) break;
      if (i < most_priorities) continue;
      next = std::min(next.value_or(Micros::max()), now + core::scout_pause);  // another may be due then
      break;
    }
  }
  if (now == Micros::zero()) now = server_time(connection_, until_);
  if (!next) return core::longest_idle;
  return std::clamp(std::chrono::ceil<Millis>(*next - now), Millis::zero(), core::longest_idle);
}

// -- those that wait for a lock

std::optional<KeptJob> JobCollection::first_waiting(std::string_view key) {
  Document match, more;
  match.text("waits_for", key);
  more.text("hint", waits_index).document("sort", in_order());
  auto first = find(match, std::move(more));
  if (!first || first->record.row.due_at > first->moment().wall) return first;
  std::vector<Document> stages(6);
  stages[0].document("$match", match);
  stages[1].document("$sort", in_order());
  stages[2].number("$limit", most_passed_over);
  stages[3].document("$match", Document().document("$expr", is_to_come("wake_at")));
  stages[4].number("$limit", 1);
  stages[5].document("$project", job_fields());
  Document command;
  command.text("aggregate", name()).array("pipeline", stages);
  command.document("cursor", {}).text("hint", waits_index);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  const auto found = documents_in(reply);
  return found.empty() ? std::nullopt : std::optional(kept_job(found.front()));
}

void JobCollection::make_scout(const KeptJob& waiting) {
  if (waiting.record.row.due_at <= waiting.moment().wall + core::scout_pause) return;  // it is already
  (void)update(still_waiting(waiting), "scout", Constants(false).duration("pause", core::scout_pause).all(),
               false);
}

bool JobCollection::make_due(const KeptJob& waiting) {
  return update(still_waiting(waiting), "due", {}, false);
}

// -- to purge

std::vector<KeptJob> JobCollection::over(Micros cut, std::size_t limit) {
  Document more, fields;
  for (const char* field : {"tick_name", "tick", "tick_until", "enqueued_at"}) fields.number(field, 1);
  more.document("projection", fields).document("sort", Document().number("over_at", 1));
  const Document reply =
      find_all(Document().document("over_at", Document().moment("$lte", cut)), more, limit);
  std::vector<KeptJob> all;
  for (const View job : documents_in(reply)) all.push_back(kept_job(job));
  return all;
}

std::uint64_t JobCollection::erase_over(const std::vector<KeptJob>& jobs, Micros cut) {
  std::vector<JobId> ids;
  for (const KeptJob& job : jobs) ids.push_back(job.record.row.id);
  Document match;
  match.document("_id", numbers_in(ids)).document("over_at", Document().moment("$lte", cut));
  return static_cast<std::uint64_t>(
      View(write(delete_command(name(), match, 0), Effect::writes)).number("n"));
}

}  // namespace holdfast::mongodb
