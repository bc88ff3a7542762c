// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/indexes.h"

#include <algorithm>
#include <span>

#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

struct Index {
  const char* name;
  const char* text;
};

// A key that is free, that nobody waits for and of which there is nothing to tell is in none.  A query uses
// one of them only if it repeats the condition: listing.cpp, log.json.
constexpr Index of_leases[] = {
    {"held", R"({"name": "held", "key": {"_id": 1, "owner": 1},
                 "partialFilterExpression": {"owner": {"$gt": ""}}})"},
    {"waited_for", R"({"name": "waited_for", "key": {"_id": 1, "token": 1},
                       "partialFilterExpression": {"queue.0": {"$exists": true}}})"},
    {"logged", R"({"name": "logged", "key": {"_id": 1, "acquired_at": 1},
                   "partialFilterExpression": {"log.0": {"$exists": true}}})"},
};

// Each holds only the documents that have its field, so that what is over is in none but the last two.
constexpr Index of_jobs[] = {
    {"slot", R"({"name": "slot", "key": {"slot": 1}, "unique": true,
                 "partialFilterExpression": {"slot": {"$exists": true}}})"},
    {"tick", R"({"name": "tick", "key": {"tick_name": 1, "tick": 1}, "unique": true,
                 "partialFilterExpression": {"tick_name": {"$exists": true}}})"},
    // In the order in which jobs are claimed.  For one that is not due yet the server goes on to the next
    // priority, so what waits for its time is stepped over: one key for each priority.
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
    for (const View index : View(reply)["cursor"].documents("firstBatch"))
      there.emplace_back(index.text("name"));
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

}  // namespace holdfast::mongodb
