// SPDX-License-Identifier: Apache-2.0
#include "tests/support/databases.h"

#include "holdfast/memory.h"
#include "holdfast/sqlite.h"
#include "tests/support/scratch.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {
namespace {

class MemoryDatabase final : public TestDatabase {
 public:
  std::shared_ptr<Origin> new_client() override { return memory::origin(database_); }
  bool has_tables() const override { return false; }
  std::string url() const override { return ""; }

 private:
  const std::shared_ptr<memory::Database> database_ = memory::make_database();
};

class SqliteDatabase final : public TestDatabase {
 public:
  std::shared_ptr<Origin> new_client() override {
    return sqlite::origin({.path = folder_.path() + "/leases.db"}).value();
  }
  std::string url() const override { return "sqlite:" + folder_.path() + "/leases.db"; }

 private:
  const Scratch folder_;
};

struct Candidate {
  Kind kind;
  std::string missing{};  // empty, or what to install
};

std::vector<Candidate> candidates() {
  return {
      {{"memory", [] { return std::make_unique<MemoryDatabase>(); }}},
      {{"sqlite", [] { return std::make_unique<SqliteDatabase>(); }}},
#ifdef HOLDFAST_POSTGRES
      {{"postgres", make_postgres_database, true}, postgres_missing()},
#endif
#ifdef HOLDFAST_REDIS
      {{"redis", make_redis_database, true}, redis_missing()},
#endif
#ifdef HOLDFAST_MONGODB
      {{"mongodb", make_mongodb_database, true}, own_mongodb_missing()},
      {{"mongo_lock", make_mongo_lock_database, true}, own_mongodb_missing()},
#endif
  };
}

}  // namespace

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (Candidate& candidate : candidates())
    if (candidate.missing.empty()) kinds.push_back(std::move(candidate.kind));
  return kinds;
}

std::vector<std::string> missing_kinds() {
  std::vector<std::string> sentences;
  for (const Candidate& candidate : candidates())
    if (!candidate.missing.empty()) sentences.push_back(candidate.missing);
  return sentences;
}

std::vector<Kind> shared_kinds() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return kind.name == "memory"; });
  return kinds;
}

}  // namespace holdfast::test
