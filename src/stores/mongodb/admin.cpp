// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/admin.h"

#include <algorithm>
#include <span>

#include "stores/mongodb/findings.h"
#include "stores/mongodb/jobs.json.h"
#include "stores/mongodb/leases.json.h"
#include "stores/mongodb/probe.h"
#include "stores/mongodb/shedlock.json.h"

namespace holdfast::mongodb {
namespace {

// A document's log is up to 100 rows, each of which names the key twice, and a command holds 48 MB.
constexpr std::size_t purge_page = 50;

// `now - by`, or the beginning of time.
Micros earlier(Micros now, Millis by) {
  return by >= std::chrono::floor<Millis>(now) ? Micros::zero() : now - by;
}

struct Index {
  const char* name;
  const char* text;
};

// A key that is free, without waiters and without a log is in none of them.  A query uses one of them only if
// it repeats the condition: listing.cpp, leases.json.
constexpr Index of_leases[] = {
    {"held", R"({"name": "held", "key": {"_id": 1, "owner": 1},
                 "partialFilterExpression": {"owner": {"$gt": ""}}})"},
    {"waited_for", R"({"name": "waited_for", "key": {"_id": 1, "token": 1},
                       "partialFilterExpression": {"queue.0": {"$exists": true}}})"},
    {"logged", R"({"name": "logged", "key": {"_id": 1, "acquired_at": 1},
                   "partialFilterExpression": {"log.0": {"$exists": true}}})"},
};

// Each has only the documents with its field, so that a job that is over is only in the last two.
constexpr Index of_jobs[] = {
    {"slot", R"({"name": "slot", "key": {"slot": 1}, "unique": true,
                 "partialFilterExpression": {"slot": {"$exists": true}}})"},
    {"tick", R"({"name": "tick", "key": {"tick_name": 1, "tick": 1}, "unique": true,
                 "partialFilterExpression": {"tick_name": {"$exists": true}}})"},
    // In the order in which jobs are claimed.  At a job that is not due yet the server goes on to the next
    // priority: jobs that wait for their time cost one index key for each priority.
    {"ready", R"({"name": "ready", "key": {"queue": 1, "priority": 1, "run_at": 1, "_id": 1},
                  "partialFilterExpression": {"ready": {"$exists": true}}})"},
    {"wake", R"({"name": "wake", "key": {"queue": 1, "wake_at": 1},
                 "partialFilterExpression": {"wake_at": {"$exists": true}}})"},
    {"waits", R"({"name": "waits", "key": {"waits_for": 1, "priority": 1, "run_at": 1, "_id": 1},
                  "partialFilterExpression": {"waits_for": {"$exists": true}}})"},
    {"over", R"({"name": "over", "key": {"over_at": 1},
                 "partialFilterExpression": {"over_at": {"$exists": true}}})"},
    {"key", R"({"name": "key", "key": {"key": 1, "_id": 1}})"},
};

// As the gem's ensure_indexes creates them.  Never a unique one: the gem leaves expired documents, and adds
// another.
constexpr Index of_the_gem[] = {
    {"key_1_owner_1_expires_at_1",
     R"({"key": {"key": 1, "owner": 1, "expires_at": 1}, "name": "key_1_owner_1_expires_at_1"})"},
    {"ttl_1", R"({"key": {"ttl": 1}, "name": "ttl_1", "expireAfterSeconds": 0})"},
};

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || line.empty() || line.back() != ' ') line += blank ? ' ' : c;
  }
  return line;
}

std::vector<std::string> missing_indexes(Connection& connection, const std::string& collection,
                                         std::span<const Index> wanted, bool make, Instant until) {
  std::vector<std::string> there;
  if (collection_exists(connection, collection, until)) {
    const Document reply =
        connection.run(std::move(Document().text("listIndexes", collection)), Effect::reads, until);
    for (const View index : documents_in(reply)) there.emplace_back(index.text("name"));
  }
  std::string missing;
  for (const Index& index : wanted) {
    if (std::find(there.begin(), there.end(), index.name) != there.end()) continue;
    missing += (missing.empty() ? "" : ", ") + on_one_line(index.text);
  }
  if (missing.empty()) return {};
  const std::string words = R"({"createIndexes": ")" + collection + R"(", "indexes": [)" + missing + "]}";
  if (make) (void)connection.run(Document::from_json(words), Effect::writes, until);
  return {"db.runCommand(" + words + ")"};
}

}  // namespace

std::vector<std::string> lease_indexes(Connection& connection, bool make, Instant until) {
  return missing_indexes(connection, connection.config().leases(), of_leases, make, until);
}

std::vector<std::string> job_indexes(Connection& connection, bool make, Instant until) {
  return missing_indexes(connection, connection.config().jobs(), of_jobs, make, until);
}

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
  std::vector<std::string> commands = lease_indexes(connection_, make, until);
  const auto add = [&](const std::vector<std::string>& more) {
    commands.insert(commands.end(), more.begin(), more.end());
  };
  const StoreConfig& config = connection_.config();
  if (config.keeps_jobs()) add(job_indexes(connection_, make, until));
  if (config.beside_the_gem())
    for (const Index& one : of_the_gem)
      add(missing_indexes(connection_, config.options.collection, {&one, 1}, make, until));
  return commands;
}

std::string MongoStoreAdmin::statements() const {
  const StoreConfig& config = connection_.config();
  std::string text(leases_json);
  if (config.beside_shedlock()) text += shedlock_json;
  if (config.keeps_jobs()) text += jobs_json;
  return text;
}

Result<Purged> MongoStoreAdmin::purge(const Purge& what, Instant until) {
  Purged purged;
  try {
    const Micros now = probe_server(connection_, until).now;
    purged.places = remove_parts("queue.until", "places", now, until);
    if (what.free_for != never) purged.keys = purge_keys(earlier(now, what.free_for), now, until);
    const StoreConfig& config = connection_.config();
    if (what.free_for != never && config.beside_the_gem())
      (void)remove_documents(config.options.collection, "expires_at", earlier(now, what.free_for), until);
    if (what.log_older_than != never) {
      const Micros cut = earlier(now, what.log_older_than);
      purged.log =
          remove_parts("log.at", "log", cut, until) + remove_documents(config.remains(), "at", cut, until);
    }
  } catch (const Failure& failure) {
    Error error = failure.error();
    if (error.in_doubt()) error.code = Errc::unavailable;  // purging again is harmless
    return error;
  }
  return purged;
}

Result<Diagnosis> MongoStoreAdmin::diagnose(Instant until) {
  try {
    return mongodb::diagnose(connection_, until);
  } catch (const Failure& failure) {
    return failure.error();
  }
}

std::uint64_t MongoStoreAdmin::remove_parts(const char* field, std::string_view part, Micros cut,
                                            Instant until) {
  static const Document& text = Document::for_ever(leases_json);
  const std::string collection = connection_.config().leases();
  const std::string_view path = field;
  // A damaged document, in which that is not an array, stays as it is.
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
  for (const View sum : documents_in(counted)) n += static_cast<std::uint64_t>(sum.number("n"));
  if (n == 0) return 0;

  Document one;
  one.document("q", match).array("u", View(text)[("drop_" + std::string(part)).c_str()].as_bson());
  one.flag("multi", true).document("c", Constants(false).moment("cut", cut).all());
  (void)connection_.run(update_command(collection, std::move(one)), Effect::writes, until);
  return n;
}

std::uint64_t MongoStoreAdmin::remove_documents(const std::string& collection, const char* field, Micros cut,
                                                Instant until) {
  Document match;
  match.document(field, Document().moment("$lte", cut));
  const Document reply = connection_.run(delete_command(collection, match, 0), Effect::writes, until);
  return static_cast<std::uint64_t>(View(reply).number("n"));
}

// In parts, so that others can write meanwhile.  A key whose token is ahead of the clock stays: a new key
// that starts at the clock is then behind all that are gone.
std::uint64_t MongoStoreAdmin::purge_keys(Micros cut, Micros now, Instant until) {
  std::uint64_t gone = 0;
  std::string after;
  while (true) {
    // A key that somebody holds is over after its end.
    std::vector<Document> over(2);
    over[0].text("owner", "");
    over[1].document("expires_at", Document().moment("$lt", now));
    Document token, match;
    token.number("$lt", now.count());
    if (connection_.config().beside_shedlock()) token.number("$gt", 0);  // others are ShedLock's alone
    match.document("_id", Document().text("$gt", after))
        .document("expires_at", Document().moment("$lte", cut))
        .array("$or", over)
        .document("queue.0", Document().flag("$exists", false))
        .document("token", token);
    add_free_for_shedlock(match, cut);
    const Document reply =
        connection_.run(find_command(connection_.config().leases(), match,
                                     Document().document("sort", Document().number("_id", 1)), purge_page),
                        Effect::reads, until);
    const auto documents = documents_in(reply);
    if (documents.empty()) return gone;
    keep_remains(documents, until);
    gone += delete_unchanged(documents, cut, until);
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
      // Named by its contents, so that it is there once however often it is written.
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
  throw_write_errors(reply, connection_.config());
}

// A JVM may have locked it since, by a clock that is behind the server's.
void MongoStoreAdmin::add_free_for_shedlock(Document& match, Micros cut) const {
  if (connection_.config().beside_shedlock()) match.document("lockUntil", Document().moment("$lte", cut));
}

std::uint64_t MongoStoreAdmin::delete_unchanged(const std::vector<View>& documents, Micros cut,
                                                Instant until) {
  std::vector<Document> deletes;
  for (const View document : documents) {
    Document match;
    match.text("_id", document.text("_id"))
        .number("token", document.number("token"))
        .moment("expires_at", document.moment("expires_at"))
        .document("queue.0", Document().flag("$exists", false));
    add_free_for_shedlock(match, cut);
    deletes.push_back(std::move(Document().document("q", match).number("limit", 1)));
  }
  Document command;
  command.text("delete", connection_.config().leases()).array("deletes", deletes).flag("ordered", false);
  const Document reply = connection_.run(std::move(command), Effect::writes, until);
  return static_cast<std::uint64_t>(View(reply).number("n"));
}

}  // namespace holdfast::mongodb
