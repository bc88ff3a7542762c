// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/jobs.h"

#include <algorithm>

#include "stores/mongodb/job_terms.h"
#include "stores/mongodb/pipelines/job_renew.json.h"

namespace holdfast::mongodb {
namespace {

constexpr const char* counter = "jobs";

// Of a claim that is the holder's, and about which nobody is deciding.
Document claim_of(const ClaimRef& claim) {
  Document match = by_id(claim.id);
  match.text("state", to_string(JobState::running)).text("holder", claim.owner.text);
  return std::move(match.document("taker", is_there(false)));
}

}  // namespace

// Somebody may be writing the same document: that one is asked again.
Document Jobs::write(const Document& command, Effect effect) {
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

std::optional<KeptJob> Jobs::modify(Document command, Effect effect) {
  const Document reply = write(command, effect);
  const View value = View(reply)["value"];
  return value ? std::optional(kept_job(value)) : std::nullopt;
}

bool Jobs::update(const Document& match, const Document& pipeline, const Document& constants, bool many) {
  std::vector<Document> updates(1);
  updates[0].document("q", match);
  add_pipeline(updates[0], "u", pipeline).document("c", constants).flag("multi", many);
  Document command;
  command.text("update", name()).array("updates", updates);
  const Document reply = write(command, Effect::begins);
  for (const View error : View(reply).documents("writeErrors"))
    throw_failure(write_error(error, connection_.config()));
  return View(reply).number("n") > 0;
}

// -- to enqueue

// An id that is not used is no loss, so nothing has been applied by this.
Jobs::Fresh Jobs::next_id() {
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

void Jobs::skip_ids() {
  const auto newest = list({.limit = 1});
  const std::int64_t last = newest.empty() ? 0 : kept(newest.front().record.row.id);
  std::vector<Document> updates(1);
  updates[0].document("q", Document().text("_id", counter));
  updates[0].document("u", Document().document("$max", Document().number("last", last)));
  Document command;
  command.text("update", connection_.config().remains()).array("updates", updates);
  (void)connection_.run(std::move(command), Effect::begins, until_);
}

Jobs::Inserted Jobs::insert(const KeptJob& job) {
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

std::optional<KeptJob> Jobs::find(const Document& filter) {
  Document command;
  command.text("find", name()).document("filter", filter).document("projection", job_fields());
  command.number("limit", 1).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  const auto found = found_in(reply);
  return found.empty() ? std::nullopt : std::optional(kept_job(found.front()));
}

std::optional<KeptJob> Jobs::in_slot(std::string_view key) {
  return find(Document().text("slot", core::slot_of(key)));
}

// An answer holds 16 MB: what did not fit is asked for again.
std::vector<KeptJob> Jobs::list(const JobQuery& query) {
  std::vector<KeptJob> all;
  JobId before = query.before;
  while (all.size() < query.limit) {
    Document match, range;
    if (before != no_job) range.number("$lt", kept(before));
    if (query.id != no_job) range.number("$eq", kept(query.id));
    if (before != no_job || query.id != no_job) match.document("_id", range);
    if (!query.key.empty()) match.text("key", query.key);
    if (!query.name.empty()) match.text("name", query.name);
    if (!query.queue.empty()) match.text("queue", query.queue);
    if (query.state) match.text("state", to_string(*query.state));
    const auto left = std::min<std::size_t>(query.limit - all.size(), 1000);
    Document command;
    command.text("find", name()).document("filter", match).document("projection", job_fields());
    command.document("sort", Document().number("_id", -1));
    command.number("batchSize", static_cast<std::int64_t>(left)).flag("singleBatch", true);
    const Document reply = connection_.run(std::move(command), Effect::reads, until_);
    const auto found = found_in(reply);
    if (found.empty()) break;
    for (const View document : found) all.push_back(kept_job(document));
    before = all.back().record.row.id;
  }
  return all;
}

// -- to change

Jobs::Swapped Jobs::swap(const KeptJob& read, const Document& change) {
  std::vector<Document> updates(1);
  updates[0].document("q", unchanged(read)).document("u", change);
  Document command;
  command.text("update", name()).array("updates", updates);
  const Document reply = write(command, Effect::writes);
  for (const View error : View(reply).documents("writeErrors")) {
    if (error.number("code") != 11000) throw_failure(write_error(error, connection_.config()));
    return Swapped::slot_taken;
  }
  return View(reply).number("n") > 0 ? Swapped::yes : Swapped::changed;
}

bool Jobs::erase(const KeptJob& read) {
  std::vector<Document> deletes(1);
  deletes[0].document("q", unchanged(read)).number("limit", 1);
  Document command;
  command.text("delete", name()).array("deletes", deletes);
  return View(write(command, Effect::writes)).number("n") > 0;
}

// No other change of the job has to know of it, so its version stays.
std::optional<KeptJob> Jobs::count_duplicate(const Document& filter) {
  Document command;
  command.text("findAndModify", name()).document("query", filter);
  command.document("update", Document().document("$inc", Document().number("duplicates", 1)));
  command.document("fields", job_fields()).flag("new", true);
  return modify(std::move(command), Effect::writes);
}

std::size_t Jobs::prolong(std::span<const ClaimRef> claims, Millis ttl) {
  static const Document& text = Document::for_ever(job_renew_json);
  std::vector<Document> updates;
  for (const ClaimRef& claim : claims) {
    Document& one = updates.emplace_back();
    one.document("q", claim_of(claim));
    add_pipeline(one, "u", text).document("c", Constants(false).length("ttl", ttl).all());
  }
  Document command;
  command.text("update", name()).array("updates", updates).flag("ordered", false);
  const Document reply = write(command, Effect::writes);
  for (const View error : View(reply).documents("writeErrors"))
    throw_failure(write_error(error, connection_.config()));
  return static_cast<std::size_t>(View(reply).number("n"));
}

std::vector<bool> Jobs::held(std::span<const ClaimRef> claims) {
  std::vector<Document> any;
  for (const ClaimRef& claim : claims) any.push_back(claim_of(claim));
  const auto size = static_cast<std::int64_t>(claims.size());
  Document command;
  command.text("find", name()).document("filter", Document().array("$or", any));
  command.document("projection", Document().number("_id", 1));
  command.number("batchSize", size).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  std::vector<bool> all(claims.size());
  for (const View job : found_in(reply)) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      if (job.number("_id") == kept(claims[i].id)) all[i] = true;
  }
  return all;
}

// -- to purge

std::vector<KeptJob> Jobs::over(Micros cut, std::size_t limit) {
  Document command, fields;
  command.text("find", name());
  command.document("filter", Document().document("over_at", Document().moment("$lte", cut)));
  for (const char* field : {"tick_name", "tick", "tick_until", "enqueued_at"}) fields.number(field, 1);
  command.document("projection", fields).document("sort", Document().number("over_at", 1));
  const auto size = static_cast<std::int64_t>(limit);
  command.number("limit", size).number("batchSize", size).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  std::vector<KeptJob> all;
  for (const View job : found_in(reply)) all.push_back(kept_job(job));
  return all;
}

std::uint64_t Jobs::erase_over(const std::vector<KeptJob>& jobs, Micros cut) {
  std::vector<JobId> ids;
  for (const KeptJob& job : jobs) ids.push_back(job.record.row.id);
  Document match;
  match.document("_id", numbers_in(ids)).document("over_at", Document().moment("$lte", cut));
  std::vector<Document> deletes(1);
  deletes[0].document("q", match).number("limit", 0);
  Document command;
  command.text("delete", name()).array("deletes", deletes);
  return static_cast<std::uint64_t>(View(write(command, Effect::writes)).number("n"));
}

}  // namespace holdfast::mongodb
