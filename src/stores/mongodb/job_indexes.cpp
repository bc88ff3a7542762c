// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/job_indexes.h"

#include <algorithm>

#include "stores/mongodb/probe.h"

namespace holdfast::mongodb {
namespace {

struct Index {
  const char* name;
  const char* text;
};

// Each holds only the documents that have its field, so that what is over is in none but the last two.
constexpr Index indexes[] = {
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

}  // namespace

std::vector<std::string> job_indexes(Connection& connection, bool make, Instant until) {
  const std::string jobs = connection.config().jobs();
  std::vector<std::string> there;
  if (collection_exists(connection, jobs, until)) {
    const Document reply =
        connection.run(std::move(Document().text("listIndexes", jobs)), Effect::reads, until);
    for (const View index : View(reply)["cursor"].documents("firstBatch"))
      there.emplace_back(index.text("name"));
  }
  std::string missing;
  for (const Index& index : indexes) {
    if (std::find(there.begin(), there.end(), index.name) != there.end()) continue;
    missing += (missing.empty() ? "" : ", ") + on_one_line(index.text);
  }
  if (missing.empty()) return {};
  const std::string words = R"({"createIndexes": ")" + jobs + R"(", "indexes": [)" + missing + "]}";
  if (make) (void)connection.run(Document::from_json(words), Effect::writes, until);
  return {"db.runCommand(" + words + ")"};
}

}  // namespace holdfast::mongodb
