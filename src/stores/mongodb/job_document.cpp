// SPDX-License-Identifier: Apache-2.0
// The documents of jobs, made and read, and the commands about those of ticks.
#include <algorithm>
#include <string_view>

#include "base/time.h"
#include "core/job_fields.h"
#include "stores/mongodb/job_collection.h"

namespace holdfast::mongodb {
namespace {

// Reads a document that somebody may have changed by hand.  A field of a wrong type reads as if it were
// missing, and its name is kept.
class Reader : public core::FieldReader {
 public:
  explicit Reader(View document) : document_(document) {}

  std::string_view text(const char* name) {
    check(name, {BSON_TYPE_UTF8});
    return document_.text(name);
  }
  std::optional<std::int64_t> number_or_none(const char* name) {
    if (!check(name, {BSON_TYPE_INT32, BSON_TYPE_INT64, BSON_TYPE_DOUBLE})) return std::nullopt;
    return document_.number(name);
  }
  std::int64_t number(const char* name) { return number_or_none(name).value_or(0); }
  bool flag(const char* name) { return check(name, {BSON_TYPE_BOOL}) && document_.flag(name); }
  Micros micros(const char* name) {
    check(name, {BSON_TYPE_DATE_TIME});
    return document_.moment(name).value_or(Micros::zero());
  }
  Millis length(const char*) { return Millis(number("lock_ttl_ms")); }

 private:
  // False: it is missing, null or of another type.
  bool check(const char* name, std::initializer_list<bson_type_t> types) {
    const bson_type_t type = document_.type(name);
    if (type == BSON_TYPE_EOD || type == BSON_TYPE_NULL) return false;
    const bool good = std::find(types.begin(), types.end(), type) != types.end();
    if (!good) damage(name);
    return good;
  }

  const View document_;
};

bool can_be_purged(JobState state) noexcept {
  return state == JobState::done || state == JobState::dropped || state == JobState::cancelled;
}

// A field that is there only while it means something.
class Fields {
 public:
  Fields(Document& set, Document* unset) : set_(set), unset_(unset) {}

  void text(const char* name, bool wanted, std::string_view value) {
    wanted ? set_.text(name, value) : leave(name);
  }
  void moment(const char* name, bool wanted, Micros value) {
    wanted ? set_.moment(name, value) : leave(name);
  }
  void flag(const char* name, bool wanted) { wanted ? set_.flag(name, true) : leave(name); }

 private:
  Document& leave(const char* name) { return unset_ != nullptr ? unset_->text(name, "") : set_; }

  Document& set_;
  Document* unset_;
};

// Where the indexes find it.
void add_places(const core::JobRecord& job, Document& set, Document* unset) {
  const JobRow& row = job.row;
  const bool queued = row.state == JobState::queued, running = row.state == JobState::running;
  const bool later = queued && row.due_at > row.run_at;
  Fields fields(set, unset);
  fields.text("slot", row.slotted, core::slot_of(row.key));
  fields.flag("ready", queued && !later);
  fields.moment("wake_at", later || running, running ? job.claim_until : row.due_at.time_since_epoch());
  fields.text("waits_for", later && row.parked, row.key);
  fields.moment("over_at", can_be_purged(row.state), micros_or_zero(row.finished_at));
}

// The name of a field in a document; empty: the document has it in another form (job_collection.h).
std::string_view name_of(std::string_view field) {
  if (field == "id" || field == "slotted" || field == "claim_until") return {};
  return field == "lock_ttl" ? "lock_ttl_ms" : field;
}

template <class Value>
void put(Document& document, std::string_view field, const Value& value) {
  if (const std::string_view name = name_of(field); !name.empty()) core::write_field(document, name, value);
}

// The whole change: it counts the version, which starts again if somebody has damaged it.
Document counted(const KeptJob& read, Document& set, Document change, std::int64_t duplicates = 0) {
  Document increase;
  if (duplicates > 0) increase.number("duplicates", duplicates);
  read.version ? increase.number("version", 1) : set.number("version", 1);
  change.document("$set", set);
  if (duplicates > 0 || read.version) change.document("$inc", increase);
  return change;
}

}  // namespace

std::int64_t kept(JobId id) noexcept { return static_cast<std::int64_t>(to_number(id)); }

Document by_id(JobId id) { return std::move(Document().number("_id", kept(id))); }

Document unchanged(const KeptJob& read) {
  Document match = by_id(read.record.row.id);
  if (read.version) return std::move(match.number("version", *read.version));
  return std::move(
      match.document("version", Document().document("$not", Document().text("$type", "number"))));
}

Document job_fields() {
  Document fields;
  const core::JobRecord any;
  core::each_field(any, [&](std::string_view field, const auto&) {
    if (const std::string_view name = name_of(field); !name.empty()) fields.number(name, 1);
  });
  for (const char* name :
       {"version", "slot", "wake_at", "taker", "last_taker", "tick_name", "tick", "tick_until"})
    fields.number(name, 1);
  fields.text("now", "$$NOW");
  return fields;
}

KeptJob kept_job(View document) {
  Reader d(document);
  KeptJob job{.record = core::read_job(d),
              .version = Reader(document).number_or_none("version"),  // whoever takes the job repairs it
              .taker = std::string(d.text("taker")),
              .last_taker = std::string(d.text("last_taker")),
              .tick_name = std::string(d.text("tick_name")),
              .tick = d.number("tick"),
              .tick_until = d.micros("tick_until"),
              .now = d.micros("now")};
  // Those that the document has in another form.
  JobRow& row = job.record.row;
  row.id = JobId{static_cast<std::uint64_t>(d.number("_id"))};
  row.slotted = document.has("slot");
  // While somebody decides about it, the claim that it had is over.
  const bool claimed = row.state == JobState::running && job.taker.empty();
  if (claimed) job.record.claim_until = d.micros("wake_at");
  job.record.damaged = d.damaged();
  return job;
}

Document new_job(const KeptJob& job) {
  Document made = by_id(job.record.row.id);
  made.number("version", 0);
  core::each_field(job.record, [&](const char* field, const auto& value) { put(made, field, value); });
  add_places(job.record, made, nullptr);
  if (job.tick_name.empty()) return made;
  made.text("tick_name", job.tick_name).number("tick", job.tick);
  if (job.tick_until != Micros::zero()) made.moment("tick_until", job.tick_until);
  return made;
}

Document changed_job(const KeptJob& read, const core::JobRecord& after) {
  Document set, unset;
  core::each_changing_field(after, [&](std::string_view field, const auto& value) {
    if (field != "duplicates") put(set, field, value);  // enqueues count them meanwhile
  });
  add_places(after, set, &unset);
  unset.text("taker", "").text("last_taker", "");
  Document change;
  change.document("$unset", unset);
  return counted(read, set, std::move(change));
}

Document replaced_job(const KeptJob& read, const core::JobRecord& after) {
  const JobRow& row = after.row;
  Document set, unset, change;
  set.text("args", row.args).number("priority", row.priority).text("trail", after.trail);
  set.moment("run_at", row.run_at).moment("due_at", row.due_at).flag("parked", row.parked);
  set.number("attempt", row.attempt).number("crashes", row.crashes);
  set.number("max_attempts", row.max_attempts).text("error", row.error);
  const bool taken = !read.taker.empty();  // where it is found then is for its taker to say
  if (!taken) add_places(after, set, &unset);
  if (!taken) change.document("$unset", unset);
  return counted(read, set, std::move(change), 1);
}

// -- ticks

std::optional<KeptTick> TickCollection::find(std::string_view of) {
  const Document reply =
      connection_.run(find_command(name(), Document().text("_id", of), {}, 1), Effect::reads, until_);
  for (const View tick : documents_in(reply))
    return KeptTick{.tick = tick.number("tick"),
                    .job = JobId{static_cast<std::uint64_t>(tick.number("job"))},
                    .by = std::string(tick.text("by")),
                    .at = tick.moment("at").value_or(Micros::zero()),
                    .success = tick.moment("success").value_or(Micros::zero())};
  return std::nullopt;
}

// Where the name has come as far, nothing matches, and a second document of that name cannot be made.
bool TickCollection::advance(std::string_view of, const Step& step) {
  Document match, set;
  match.text("_id", of).document("tick", Document().number("$lt", step.tick));
  set.number("tick", step.tick).number("job", kept(step.job)).text("by", step.by).moment("at", step.at);
  if (step.until != Micros::zero()) set.moment("until", step.until);
  while (true) {
    if (upsert(match, Document().document("$set", set))) return true;
    // Somebody may have inserted the document at this moment, for an earlier tick.
    const auto last = find(of);
    if (last && last->tick >= step.tick) return false;
  }
}

// False: somebody else inserted the document.
bool TickCollection::upsert(const Document& match, const Document& change) {
  Document one;
  one.document("q", match).document("u", change).flag("upsert", true);
  const Document reply = connection_.run(update_command(name(), std::move(one)), Effect::writes, until_);
  for (const View error : View(reply).documents("writeErrors")) {
    if (!is_collision(error.number("code"))) throw_failure(write_error(error, connection_.config()));
    return false;
  }
  return true;
}

bool TickCollection::advance(const KeptJob& job) {
  const JobRow& row = job.record.row;
  if (advance(job.tick_name, {.tick = job.tick,
                              .job = row.id,
                              .at = row.enqueued_at.time_since_epoch(),
                              .until = job.tick_until}))
    return true;
  const auto last = find(job.tick_name);
  return last && last->job == row.id;
}

void TickCollection::note_success(std::string_view of, std::string_view by, Micros at) {
  Document change;
  change.document("$set", Document().text("by", by).moment("success", at));
  change.document("$setOnInsert", Document().number("tick", -1));
  while (!upsert(Document().text("_id", of), change)) continue;
}

void TickCollection::erase(Micros until_before) {
  const Document match = std::move(Document().document("until", Document().moment("$lte", until_before)));
  (void)connection_.run(delete_command(name(), match, 0), Effect::writes, until_);
}

}  // namespace holdfast::mongodb
