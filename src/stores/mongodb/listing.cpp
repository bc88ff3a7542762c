// SPDX-License-Identifier: Apache-2.0
// What people read: list and examine.  Nothing here writes.
#include <algorithm>

#include "base/time.h"
#include "core/row.h"
#include "stores/mongodb/leases.json.h"
#include "stores/mongodb/shedlock.json.h"
#include "stores/mongodb/store_connection.h"

namespace holdfast::mongodb {
namespace {

constexpr std::size_t page_size = 1000;

// Each with a condition of an index, so that the server reads that and not all keys: admin.cpp.
Document held_in(const Document& range) {
  return std::move(Document().document("_id", range).document("owner", Document().text("$gt", "")));
}

// The index does not know which places are live: add_lease() and add_places() check that.
Document waited_for_in(const Document& range) {
  return std::move(Document().document("_id", range).document("queue.0", Document().flag("$exists", true)));
}

// Locks of ShedLock's are in no index.
Document held_or_waited_for_in(const Document& range, bool beside_shedlock) {
  std::vector<Document> either;
  either.push_back(held_in(range));
  either.push_back(waited_for_in(range));
  if (beside_shedlock) {
    static const Document& text = Document::for_ever(shedlock_json);
    either.push_back(std::move(Document::copy_of(View(text)["held"]).document("_id", range)));
  }
  return std::move(Document().array("$or", either));
}

void add_lease(Page& page, std::string_view key, const Snapshot& snapshot, bool free) {
  const core::Record& record = snapshot.record;
  const Micros now = *snapshot.now;
  if (record.token == no_token && !record.live(now)) return;  // of a key that only outsiders have had
  const auto waiting = static_cast<std::uint32_t>(
      std::count_if(record.queue.begin(), record.queue.end(),
                    [&](const auto& place) { return core::place_is_live(place.until, now); }));
  if (!free && record.owner.empty() && waiting == 0) return;
  const Millis left = record.live(now) ? core::remaining(record.end, now) : Millis::zero();
  // A Holdfast that records no ttl may have set the end since.
  const bool known = record.live(now) && record.end && record.ttl && left <= *record.ttl;
  page.leases.push_back({.key = std::string(key),
                         .owner = record.owner,
                         .token = record.token,
                         .remaining = left,
                         .ttl = known ? record.ttl : std::nullopt,
                         .since = moment_or_none(record.since),
                         .note = record.note,
                         .detached = record.detached,
                         .waiting = waiting});
}

void add_places(Page& page, std::string_view key, const Snapshot& snapshot, std::size_t limit) {
  for (const core::Place& place : snapshot.record.queue) {
    if (!core::place_is_live(place.until, *snapshot.now) || page.places.size() == limit) continue;
    page.places.push_back({.key = std::string(key),
                           .client = place.client,
                           .owner = place.owner,
                           .remaining = core::remaining(place.until, *snapshot.now)});
  }
}

LogRow log_row(View row) {
  return {.at = Moment(row.moment("at").value_or(Micros::zero())),
          .key = std::string(row.text("key")),
          .event = std::string(row.text("event")),
          .owner = std::string(row.text("holder")),
          .token = Token{static_cast<std::uint64_t>(row.number("token"))},
          .by = std::string(row.text("by")),
          .reason = std::string(row.text("reason"))};
}

}  // namespace

Result<Page> MongoStoreConnection::list(const Query& query, Instant until) {
  Page page;
  try {
    ready(until);
    if (query.what == Query::What::log)
      list_log(query, page, until);
    else
      list_documents(query, page, until);
    if (query.what == Query::What::leases && connection_.config().beside_the_gem())
      list_theirs(query, page, until);
  } catch (const Failure& failure) {
    return failure.error();
  }
  return page;
}

// Page by page behind the last key; keys that begin alike lie together.
void MongoStoreConnection::list_documents(const Query& query, Page& page, Instant until) {
  const StoreConfig& config = connection_.config();
  const bool leases = query.what == Query::What::leases;
  std::string after(query.after);
  // The first page has a name of ShedLock's that is empty too; behind a page of only that one the same would
  // come again.
  bool goes_on = !after.empty() || query.limit <= 1;
  while ((leases ? page.leases.size() : page.places.size()) < query.limit) {
    Document range;
    range.text("$gte", query.prefix);
    if (goes_on) range.text("$gt", after);
    if (query.exact) range.text("$lte", query.prefix);
    const std::size_t size = leases ? std::min(query.limit, page_size) : page_size;
    const bool free = query.free || query.exact;
    const Document filter = !leases ? waited_for_in(range)
                            : free  ? std::move(Document().document("_id", range))
                                    : held_or_waited_for_in(range, config.beside_shedlock());
    Document more;
    more.document("projection", pipelines().fields());
    more.document("sort", Document().number("_id", 1));
    const Document reply =
        connection_.run(find_command(config.leases(), filter, more, size), Effect::reads, until);
    const auto documents = documents_in(reply);
    for (const View document : documents) {
      const std::string_view key = document.text("_id");
      if (!key.starts_with(query.prefix)) return;
      after = key;
      goes_on = true;
      const Snapshot snapshot = snapshot_of(document);
      if (!snapshot.now) continue;
      if (leases && page.leases.size() < query.limit) add_lease(page, key, snapshot, free);
      if (!leases) add_places(page, key, snapshot, query.limit);
    }
    if (documents.empty() || query.exact) return;
  }
}

void MongoStoreConnection::list_log(const Query& query, Page& page, Instant until) {
  static const Document& text = Document::for_ever(leases_json);
  std::vector<Document> stages;
  for (const View stage : View(text).documents("log_of_leases")) stages.push_back(Document::copy_of(stage));
  stages.push_back(std::move(Document().text("$unionWith", connection_.config().remains())));
  for (const View stage : View(text).documents("log_wanted")) stages.push_back(Document::copy_of(stage));
  const auto limit = static_cast<std::int64_t>(std::clamp<std::size_t>(query.limit, 1, 1'000'000));
  stages.push_back(std::move(Document().number("$limit", limit)));
  Constants let(true);
  let.text("prefix", query.prefix).flag("exact", query.exact);
  Document command;
  command.text("aggregate", connection_.config().leases())
      .array("pipeline", stages)
      .document("cursor", Document().number("batchSize", limit))
      .document("let", let.all());
  const Document reply = connection_.run(std::move(command), Effect::reads, until);
  for (const View row : documents_in(reply)) page.log.push_back(log_row(row));
}

Result<Traits> MongoStoreConnection::examine(Instant until) {
  try {
    ready(until);
    return traits_of(probe_server(connection_, until), connection_.config());
  } catch (const Failure& failure) {
    return failure.error();
  }
}

}  // namespace holdfast::mongodb
