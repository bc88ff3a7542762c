// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/admin.h"

#include <algorithm>

#include "stores/mongodb/constants.h"
#include "stores/mongodb/diagnosis.h"
#include "stores/mongodb/indexes.h"
#include "stores/mongodb/pipelines/purge.json.h"
#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

// A document's log is up to 100 rows, each of which names the key twice, and a command holds 48 MB.
constexpr std::int64_t purge_page = 50;

// `now - by`, or the beginning of time.
Micros earlier(Micros now, Millis by) {
  return by >= std::chrono::floor<Millis>(now) ? Micros::zero() : now - by;
}

struct GemIndex {
  const char* name;
  const char* text;
};

// As the gem's ensure_indexes makes them.  Never a unique one: it leaves expired documents, and adds another.
constexpr GemIndex of_the_gem[] = {
    {"key_1_owner_1_expires_at_1",
     R"({"key": {"key": 1, "owner": 1, "expires_at": 1}, "name": "key_1_owner_1_expires_at_1"})"},
    {"ttl_1", R"({"key": {"ttl": 1}, "name": "ttl_1", "expireAfterSeconds": 0})"},
};

}  // namespace

Result<std::vector<std::string>> MongoStoreAdmin::plan(Instant until) {
  try {
    (void)probe_server(connection_, until);
    return indexes(false, until);
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<std::vector<std::string>> MongoStoreAdmin::init(Instant until) {
  try {
    (void)probe_server(connection_, until);
    return indexes(true, until);
  } catch (const Failure& failure) {
    return failure.error();
  }
}

std::vector<std::string> MongoStoreAdmin::indexes(bool make, Instant until) {
  std::vector<std::string> made = lease_indexes(connection_, make, until);
  const StoreConfig& config = connection_.config();
  if (!config.beside_the_gem()) {
    for (std::string& command : job_indexes(connection_, make, until)) made.push_back(std::move(command));
    return made;
  }
  std::vector<std::string> there;
  if (collection_exists(connection_, config.options.collection, until)) {
    const Document reply = connection_.run(
        std::move(Document().text("listIndexes", config.options.collection)), Effect::reads, until);
    for (const View index : View(reply)["cursor"].documents("firstBatch"))
      there.emplace_back(index.text("name"));
  }
  for (const GemIndex& index : of_the_gem) {
    if (std::find(there.begin(), there.end(), index.name) != there.end()) continue;
    const std::string words =
        R"({"createIndexes": ")" + config.options.collection + R"(", "indexes": [)" + index.text + "]}";
    made.push_back("db.runCommand(" + words + ")");
    if (make) (void)connection_.run(Document::from_json(words), Effect::writes, until);
  }
  return made;
}

Result<Purged> MongoStoreAdmin::purge(const Purge& what, Instant until) {
  Purged purged;
  try {
    const Micros now = probe_server(connection_, until).now;
    purged.places = take_parts("queue.until", "places", now, until);
    if (what.free_for != never) purged.keys = purge_keys(earlier(now, what.free_for), now, until);
    const StoreConfig& config = connection_.config();
    if (what.free_for != never && config.beside_the_gem())
      (void)take_documents(config.options.collection, "expires_at", earlier(now, what.free_for), until);
    if (what.log_older_than != never) {
      const Micros cut = earlier(now, what.log_older_than);
      purged.log =
          take_parts("log.at", "log", cut, until) + take_documents(config.remains(), "at", cut, until);
    }
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // what is gone is gone
    return error;
  }
  return purged;
}

Result<Diagnosis> MongoStoreAdmin::diagnose(Instant until) {
  try {
    return look_closely(connection_, until);
  } catch (const Failure& failure) {
    return failure.error();
  }
}

std::uint64_t MongoStoreAdmin::take_parts(const char* field, std::string_view part, Micros cut,
                                          Instant until) {
  static const Document& text = Document::for_ever(purge_json);
  const std::string collection = connection_.config().leases();
  const std::string_view path = field;
  // A damaged document, in which that is no array, stays as it is.
  Document match;
  match.document(path.substr(0, path.find('.')), Document().text("$type", "array"))
      .document(field, Document().moment("$lte", cut));

  std::vector<Document> stages;
  stages.push_back(std::move(Document().document("$match", match)));
  for (const View stage : View(text).documents(("count_" + std::string(part)).c_str()))
    stages.push_back(Document::copy_of(stage));
  Document count;
  count.text("aggregate", collection).array("pipeline", stages).document("cursor", {});
  count.document("let", Constants(true).moment("cut", cut).all());
  const Document counted = connection_.run(std::move(count), Effect::reads, until);
  std::uint64_t n = 0;
  for (const View sum : View(counted)["cursor"].documents("firstBatch"))
    n += static_cast<std::uint64_t>(sum.number("n"));
  if (n == 0) return 0;

  const bson_t pipeline = View(text)[("drop_" + std::string(part)).c_str()].as_bson();
  std::vector<Document> updates(1);
  updates[0].document("q", match).array("u", pipeline).flag("multi", true);
  updates[0].document("c", Constants(false).moment("cut", cut).all());
  Document update;
  update.text("update", collection).array("updates", updates);
  (void)connection_.run(std::move(update), Effect::writes, until);
  return n;
}

std::uint64_t MongoStoreAdmin::take_documents(const std::string& collection, const char* field, Micros cut,
                                              Instant until) {
  Document match;
  match.document(field, Document().moment("$lte", cut));
  std::vector<Document> deletes(1);
  deletes[0].document("q", match).number("limit", 0);
  Document command;
  command.text("delete", collection).array("deletes", deletes);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  return static_cast<std::uint64_t>(View(reply).number("n"));
}

// In parts, so that others can write meanwhile.  A key whose token is ahead of the clock stays: a new key
// that starts at the clock is then behind all that are gone.
std::uint64_t MongoStoreAdmin::purge_keys(Micros cut, Micros now, Instant until) {
  std::uint64_t gone = 0;
  std::string after;
  while (true) {
    // What somebody holds is over behind its end.
    std::vector<Document> over(2);
    over[0].text("owner", "");
    over[1].document("expires_at", Document().moment("$lt", now));
    Document match;
    match.document("_id", Document().text("$gt", after))
        .document("expires_at", Document().moment("$lte", cut))
        .array("$or", over)
        .document("queue.0", Document().flag("$exists", false))
        .document("token", Document().number("$lt", now.count()));
    Document command;
    command.text("find", connection_.config().leases())
        .document("filter", match)
        .document("sort", Document().number("_id", 1))
        .number("batchSize", purge_page)
        .flag("singleBatch", true);
    const Document reply = connection_.run(std::move(command), Effect::reads, until);
    const auto documents = View(reply)["cursor"].documents("firstBatch");
    if (documents.empty()) return gone;
    keep_remains(documents, until);
    gone += delete_unchanged(documents, until);
    after = documents.back().text("_id");
  }
}

// Before anything is deleted.
void MongoStoreAdmin::keep_remains(const std::vector<View>& documents, Instant until) {
  std::int64_t token = 0;
  std::vector<Document> updates(1);
  for (const View document : documents) {
    token = std::max(token, document.number("token"));
    for (const View row : document.documents("log")) {
      // Named by what it tells, so that it is there once however often we come here.
      Document id;
      id.text("key", document.text("_id"))
          .number("token", row.number("token"))
          .text("event", row.text("event"));
      Document kept = Document::copy_of(row);
      kept.text("key", document.text("_id"));
      Document& one = updates.emplace_back();
      one.document("q", Document().document("_id", id));
      one.document("u", Document().document("$setOnInsert", kept)).flag("upsert", true);
    }
  }
  updates[0].document("q", Document().text("_id", "purged"));
  updates[0].document("u", std::move(Document().document("$max", Document().number("token", token))));
  updates[0].flag("upsert", true);
  Document command;
  command.text("update", connection_.config().remains()).array("updates", updates);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  for (const View error : View(reply).documents("writeErrors"))
    throw_failure(write_error(error, connection_.config()));
}

std::uint64_t MongoStoreAdmin::delete_unchanged(const std::vector<View>& documents, Instant until) {
  std::vector<Document> deletes;
  for (const View document : documents) {
    Document match;
    match.text("_id", document.text("_id"))
        .number("token", document.number("token"))
        .moment("expires_at", document.moment("expires_at"))
        .document("queue.0", Document().flag("$exists", false));
    deletes.push_back(std::move(Document().document("q", match).number("limit", 1)));
  }
  Document command;
  command.text("delete", connection_.config().leases()).array("deletes", deletes).flag("ordered", false);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  return static_cast<std::uint64_t>(View(reply).number("n"));
}

}  // namespace holdfast::mongodb
