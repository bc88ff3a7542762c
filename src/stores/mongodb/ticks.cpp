// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/ticks.h"

namespace holdfast::mongodb {

std::optional<KeptTick> Ticks::find(std::string_view of) {
  Document command;
  command.text("find", name()).document("filter", Document().text("_id", of));
  command.number("limit", 1).flag("singleBatch", true);
  const Document reply = connection_.run(std::move(command), Effect::reads, until_);
  for (const View tick : View(reply)["cursor"].documents("firstBatch"))
    return KeptTick{.tick = tick.number("tick"),
                    .job = JobId{static_cast<std::uint64_t>(tick.number("job"))},
                    .by = std::string(tick.text("by")),
                    .at = tick.moment("at").value_or(Micros::zero()),
                    .success = tick.moment("success").value_or(Micros::zero())};
  return std::nullopt;
}

// Where the name has come as far, nothing matches, and a second document of that name cannot be made.
bool Ticks::advance(std::string_view of, const Step& step) {
  Document match, set;
  match.text("_id", of).document("tick", Document().number("$lt", step.tick));
  set.number("tick", step.tick).number("job", kept(step.job)).text("by", step.by).moment("at", step.at);
  if (step.until != Micros::zero()) set.moment("until", step.until);
  while (true) {
    std::vector<Document> updates(1);
    updates[0].document("q", match).document("u", Document().document("$set", set)).flag("upsert", true);
    if (upsert(updates)) return true;
    // Unless somebody has made the document this moment, for an earlier tick.
    const auto last = find(of);
    if (last && last->tick >= step.tick) return false;
  }
}

// False: somebody else made the document.
bool Ticks::upsert(const std::vector<Document>& updates) {
  Document command;
  command.text("update", name()).array("updates", updates);
  const Document reply = connection_.run(std::move(command), Effect::writes, until_);
  for (const View error : View(reply).documents("writeErrors")) {
    if (!is_collision(error.number("code"))) throw_failure(write_error(error, connection_.config()));
    return false;
  }
  return true;
}

bool Ticks::advance(const KeptJob& job) {
  const JobRow& row = job.record.row;
  if (advance(job.tick_name, {.tick = job.tick,
                              .job = row.id,
                              .at = row.enqueued_at.time_since_epoch(),
                              .until = job.tick_until}))
    return true;
  const auto last = find(job.tick_name);
  return last && last->job == row.id;
}

void Ticks::note_success(std::string_view of, std::string_view by, Micros at) {
  std::vector<Document> updates(1);
  Document change;
  change.document("$set", Document().text("by", by).moment("success", at));
  change.document("$setOnInsert", Document().number("tick", -1));
  updates[0].document("q", Document().text("_id", of)).document("u", change).flag("upsert", true);
  while (!upsert(updates)) continue;
}

void Ticks::erase(Micros until_before) {
  std::vector<Document> deletes(1);
  deletes[0].document("q", Document().document("until", Document().moment("$lte", until_before)));
  deletes[0].number("limit", 0);
  Document command;
  command.text("delete", name()).array("deletes", deletes);
  (void)connection_.run(std::move(command), Effect::writes, until_);
}

}  // namespace holdfast::mongodb
