// SPDX-License-Identifier: Apache-2.0
// databases.h - the real databases that the contract is tested on.  A new store adds a line in
// databases.cpp and has all of it.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/spi/descriptor.h"
#include "holdfast/spi/store.h"

namespace holdfast::test {

// An empty database of its own, gone with this object.
class TestDatabase {
 public:
  virtual ~TestDatabase() = default;
  virtual std::shared_ptr<Store> new_client() = 0;
  virtual bool has_tables() const { return true; }  // which have to be made
  // With which another process opens it; empty for memory, which is one process's.
  virtual std::string url() const = 0;
  // While the returned object lives, the server answers no request for a lease.  REQUIRES: it was made by
  // Kind::alone().
  virtual std::shared_ptr<void> hang() { return nullptr; }
  // Where the server ends leases by itself: ends these now, as it does when their time is over.
  virtual void expire(const std::vector<std::string>& /*keys*/) {}
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<TestDatabase>()> make;
  bool server = false;   // a process of its own answers: it can hang, be killed and come back
  bool listener = true;  // it notifies waiters; otherwise they poll
  // One that can hang(); empty where every one can.
  std::function<std::unique_ptr<TestDatabase>()> make_alone{};
  // What the descriptor of the store claims, and this layout or this server of it lacks.
  StoreCapabilities lacks{};
  bool transactions = false;  // jobs are enqueued in a transaction of the caller: its own tests show that

  std::unique_ptr<TestDatabase> alone() const { return make_alone ? make_alone() : make(); }
};
inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

// Those whose programs are installed: memory, which is the executable specification, comes first.
std::vector<Kind> all_kinds();
// Those of them that several processes can share, by url().
std::vector<Kind> shared_kinds();
// Those that keep jobs: all but the layouts that do not.
std::vector<Kind> job_kinds();
// Those of them that several processes can share.
std::vector<Kind> shared_job_kinds();
// Those of these names that are installed.
std::vector<Kind> kinds_named(std::initializer_list<std::string_view> names);
// What a suite of Darwin's runs on: tables of our own, and its own ("darwin", which no other suite has).
std::vector<Kind> darwin_kinds();
// Layouts beside ShedLock's table or collection ("postgres_shedlock", "mariadb_shedlock",
// "mongodb_shedlock"), which only the contract is tested on.
std::vector<Kind> shedlock_kinds();
// All of all_kinds(), and those.
std::vector<Kind> all_kinds_and_shedlock();
std::vector<Kind> kinds_with_listener();
std::vector<Kind> kinds_without_listener();
// What to do to have the others, a sentence for each.
std::vector<std::string> missing_kinds();
// The same for those that a run of tests may do without: MySQL, which moves.
std::vector<std::string> missing_extras();

// A schema of its own in the PostgreSQL that the tests share.
std::unique_ptr<TestDatabase> make_postgres_database();
// The same with layout=shedlock, on a table whose names may be as long as keys.
std::unique_ptr<TestDatabase> make_postgres_shedlock_database();
// A Redis of its own.  `parameters` of its URL: `?layout=active_job_lock`.
std::unique_ptr<TestDatabase> make_redis_database(const std::string& parameters);
// A database of its own in the MariaDB, or the MySQL, that the tests share.
// `parameters` of its URL: `?layout=darwin`.
std::unique_ptr<TestDatabase> make_mariadb_database(const std::string& parameters);
std::unique_ptr<TestDatabase> make_mysql_database();
// The same with layout=shedlock, on a table whose names may be as long as keys, and are compared as bytes.
std::unique_ptr<TestDatabase> make_mariadb_shedlock_database();
// A database of its own in the MongoDB that the tests share, and a MongoDB of its own.  `parameters` of its
// URL:
// `?layout=mongo-lock`.
std::unique_ptr<TestDatabase> make_mongodb_database(const std::string& parameters);
std::unique_ptr<TestDatabase> make_own_mongodb_database(const std::string& parameters);

// Each store that `inner` opens is passed through `wrap`: to count, or to plant faults.
std::shared_ptr<Store> wrapped(
    std::shared_ptr<Store> inner,
    std::function<std::unique_ptr<StoreConnection>(std::unique_ptr<StoreConnection>)> wrap);

}  // namespace holdfast::test

// TEST_P(Suite, …) on every database, or on those that processes share.
#define HOLDFAST_ON_EVERY_STORE(Suite) HOLDFAST_ON_STORES(Suite, ::holdfast::test::all_kinds())
#define HOLDFAST_ON_EVERY_SHARED_STORE(Suite) HOLDFAST_ON_STORES(Suite, ::holdfast::test::shared_kinds())
// Or on those of the latter that keep jobs.
#define HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Suite) \
  HOLDFAST_ON_STORES(Suite, ::holdfast::test::shared_job_kinds())
// Or on every database, and beside ShedLock's table.
#define HOLDFAST_ON_EVERY_STORE_AND_SHEDLOCK(Suite) \
  HOLDFAST_ON_STORES(Suite, ::holdfast::test::all_kinds_and_shedlock())
// A store whose program is not installed has no tests, and a conformance test reports that.
#define HOLDFAST_ON_STORES(Suite, kinds)                          \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::ValuesIn(kinds), \
                           [](const auto& param_info) { return param_info.param.name; })
