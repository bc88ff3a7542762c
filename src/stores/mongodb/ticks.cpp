// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/job_collection.h"

namespace holdfast::mongodb {

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
