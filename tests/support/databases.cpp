// SPDX-License-Identifier: Apache-2.0
#include "tests/support/databases.h"

#include "holdfast/memory.h"
#include "holdfast/sqlite.h"
#include "tests/support/scratch.h"
#include "tests/support/servers/mongo_server.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

class MemoryDatabase final : public TestDatabase {
 public:
  std::shared_ptr<Store> new_client() override { return memory::store(database_); }
  bool has_tables() const override { return false; }
  std::string url() const override { return ""; }

 private:
  const std::shared_ptr<memory::Database> database_ = memory::make_database();
};

class SqliteDatabase final : public TestDatabase {
 public:
  std::shared_ptr<Store> new_client() override {
    return sqlite::store({.path = folder_.path() + "/leases.db"}).value();
  }
  std::string url() const override { return "sqlite:" + folder_.path() + "/leases.db"; }

 private:
  const Scratch folder_;
};

struct Candidate {
  Kind kind;
  std::string missing{};  // empty, or what to install
  bool extra = false;
  bool jobs = true;  // it keeps jobs too
};

Kind transactional_kind(Kind kind) {
  kind.transactions = true;
  return kind;
}

#ifdef HOLDFAST_MONGODB
// Nothing makes a database of a MongoDB hang but to stop the process, so that takes one of its own.
Kind mongodb_kind(const std::string& name, const std::string& parameters) {
  const bool own = parameters.empty(), replicated = shared_mongodb_has_streams();
  return {.name = name,
          .make = [=] { return make_mongodb_database(parameters); },
          .server = true,
          .listener = replicated,
          .make_alone = [=] { return make_own_mongodb_database(parameters); },
          .lacks = {.push = !replicated, .durable = !own || !replicated, .jobs = !own}};
}
#endif

// Every suite asks, in every process of a run, and there are thousands: the folders are searched for servers
// once.
const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all{
      {{"memory", [] { return std::make_unique<MemoryDatabase>(); }}},
      {transactional_kind({"sqlite", [] { return std::make_unique<SqliteDatabase>(); }})},
#ifdef HOLDFAST_POSTGRES
      {transactional_kind({"postgres", make_postgres_database, true}), postgres_missing()},
#endif
#ifdef HOLDFAST_REDIS
      {{"redis", [] { return make_redis_database(""); }, true}, redis_missing()},
      {{"active_job_lock", [] { return make_redis_database("?layout=active_job_lock"); }, true},
       redis_missing()},
#endif
#ifdef HOLDFAST_MONGODB
      {mongodb_kind("mongodb", ""), shared_mongodb_missing()},
      {mongodb_kind("mongo_lock", "?layout=mongo-lock"), shared_mongodb_missing(), false, /*jobs=*/false},
#endif
#ifdef HOLDFAST_MARIADB
      {{"mariadb", [] { return make_mariadb_database(""); }, true, false}, mariadb_missing()},
      {{"mysql", make_mysql_database, true, false}, mysql_missing(), true},
#endif
  };
  return all;
}

template <class Wanted>
std::vector<Kind> kinds_of(const Wanted& wanted) {
  std::vector<Kind> kinds;
  for (const Candidate& candidate : candidates())
    if (candidate.missing.empty() && wanted(candidate)) kinds.push_back(candidate.kind);
  return kinds;
}

std::vector<std::string> missing(bool extra) {
  std::vector<std::string> sentences;
  for (const Candidate& candidate : candidates()) {
    const bool known = !sentences.empty() && sentences.back() == candidate.missing;
    if (candidate.extra == extra && !candidate.missing.empty() && !known)
      sentences.push_back(candidate.missing);
  }
  return sentences;
}

}  // namespace

std::vector<Kind> all_kinds() {
  return kinds_of([](const Candidate&) { return true; });
}

std::vector<std::string> missing_kinds() { return missing(false); }
std::vector<std::string> missing_extras() { return missing(true); }

std::vector<Kind> job_kinds() {
  return kinds_of([](const Candidate& candidate) { return candidate.jobs; });
}

std::vector<Kind> kinds_named(std::initializer_list<std::string_view> names) {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [&](const Kind& kind) {
    return std::find(names.begin(), names.end(), kind.name) == names.end();
  });
  return kinds;
}

std::vector<Kind> darwin_kinds() {
  std::vector<Kind> kinds = kinds_named({"mariadb"});
  if (!kinds.empty()) {
    kinds.push_back(
        {"darwin", [] { return make_mariadb_database("?layout=darwin&unsafe=allow"); }, true, false});
  }
  return kinds;
}

std::vector<Kind> shedlock_kinds() {
  std::vector<Kind> kinds;
  if (!kinds_named({"postgres"}).empty())
    kinds.push_back({.name = "postgres_shedlock",
                     .make = make_postgres_shedlock_database,
                     .server = true,
                     .lacks = {.durable = true, .jobs = true, .transactions = true}});
  if (!kinds_named({"mariadb"}).empty())
    kinds.push_back({.name = "mariadb_shedlock",
                     .make = make_mariadb_shedlock_database,
                     .server = true,
                     .listener = false,
                     .lacks = {.durable = true, .jobs = true}});
#ifdef HOLDFAST_MONGODB
  if (!kinds_named({"mongodb"}).empty())
    kinds.push_back(mongodb_kind("mongodb_shedlock", "?layout=shedlock&unsafe=allow"));
#endif
  return kinds;
}

std::vector<Kind> all_kinds_and_shedlock() {
  std::vector<Kind> kinds = all_kinds();
  for (Kind& kind : shedlock_kinds()) kinds.push_back(std::move(kind));
  return kinds;
}

std::vector<Kind> kinds_with_listener() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return !kind.listener; });
  return kinds;
}

std::vector<Kind> kinds_without_listener() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return kind.listener; });
  return kinds;
}

std::vector<Kind> shared_kinds() {
  std::vector<Kind> kinds = all_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return kind.name == "memory"; });
  return kinds;
}

std::vector<Kind> shared_job_kinds() {
  std::vector<Kind> kinds = job_kinds();
  std::erase_if(kinds, [](const Kind& kind) { return kind.name == "memory"; });
  return kinds;
}

}  // namespace holdfast::test
