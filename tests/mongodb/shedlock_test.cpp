// SPDX-License-Identifier: Apache-2.0
// layout=shedlock: JVMs with ShedLock and ours on the documents of one collection, both ways round.
#include "tests/support/shedlock.h"

#include "base/time.h"
#include "tests/mongodb/suite.h"
#include "tests/support/together.h"

namespace holdfast::test {
namespace {

// What ShedLock's Mongo provider sends, by the clock of its machine.
class MongoJvm {
 public:
  MongoJvm(const MongoAddress& server, std::string database, std::string host, Millis ahead)
      : server_(server), database_(std::move(database)), host_(std::move(host)), ahead_(ahead) {}

  // Another document of that name: somebody has the lock.
  bool lock(const std::string& name, Millis at_most = 10min) {
    try {
      find_and_modify(R"("_id": ")" + name + R"(", "lockUntil": {"$lte": )" + date() + "}",
                      R"("lockUntil": )" + date(at_most) + R"(, "lockedAt": )" + date() +
                          R"(, "lockedBy": ")" + host_ + "\"",
                      true);
      return true;
    } catch (const std::runtime_error& error) {
      if (!mentions(error.what(), "E11000")) throw;
      return false;
    }
  }
  bool extend(const std::string& name, Millis at_most = 10min) {
    return find_and_modify(
        R"("_id": ")" + name + R"(", "lockUntil": {"$gt": )" + date() + R"(}, "lockedBy": ")" + host_ + "\"",
        R"("lockUntil": )" + date(at_most), false);
  }
  // It does not look whose the lock is.
  bool unlock(const std::string& name, Millis at_least = 0ms) {
    return find_and_modify(R"("_id": ")" + name + "\"", R"("lockUntil": )" + date(at_least), false);
  }

 private:
  std::string date(Millis from_now = 0ms) const {
    const Millis at = std::chrono::floor<Millis>(wall_now().time_since_epoch()) + ahead_ + from_now;
    return R"({"$date": {"$numberLong": ")" + std::to_string(at.count()) + R"("}})";
  }
  // Whether there was such a document.
  bool find_and_modify(const std::string& query, const std::string& set, bool upsert) const {
    const std::string answer = server_.command(
        database_, R"({"findAndModify": "shedLock", "query": {)" + query + R"(}, "update": {"$set": {)" +
                       set + R"(}}, "upsert": )" + (upsert ? "true" : "false") + "}");
    return !mentions(answer, "\"value\" : null");
  }

  const MongoAddress& server_;
  const std::string database_, host_;
  const Millis ahead_;
};

class ShedLockLayout : public MongoTest {
 public:
  static constexpr bool unlock_looks = false;

  Caller ours() const { return Caller(shedlock()); }
  std::shared_ptr<Store> store() const { return try_store(shedlock()).value(); }
  MongoJvm jvm(const std::string& host, std::optional<Millis> ahead = std::nullopt) const {
    return {shared_mongodb(), database_, host, ahead.value_or(0ms)};
  }
  int free_rows() const { return count(R"({"$expr": {"$lte": ["$lockUntil", "$$NOW"]}})"); }
  void end_now() const { change(R"([{"$set": {"lockUntil": "$$NOW"}}])"); }
  void end_at_start() const { change(R"([{"$set": {"lockUntil": "$lockedAt"}}])"); }

 protected:
  std::string shedlock() const { return with(url(), "layout=shedlock"); }
  void change(const std::string& update) const {
    mongo(R"({"update": "shedLock", "updates": [{"q": {}, "u": )" + update + R"(, "multi": true}]})");
  }
  void insert(const std::string& fields) const {
    mongo(R"({"insert": "shedLock", "documents": [{)" + fields + "}]}");
  }
  // How many documents of the collection that filter finds.
  int count(const std::string& filter) const {
    const std::string answer = mongo(R"({"aggregate": "shedLock", "cursor": {}, "pipeline": [{"$match": )" +
                                     filter + R"(}, {"$count": "n"}]})");
    const std::size_t at = answer.find("\"n\" : ");
    return at == std::string::npos ? 0 : std::stoi(answer.substr(at + 6));
  }
};

HOLDFAST_SHEDLOCK_SCENES(TEST_F, ShedLockLayout)

TEST_F(ShedLockLayout, one_document_has_the_lease_and_what_shedlock_reads) {
  Caller caller(shedlock());
  const Reply mine = caller.acquire("nightly", "ann", 1h);
  const std::string token = std::to_string(to_number(mine.token));
  EXPECT_EQ(count(R"({"lockedBy": "ann holdfast-)" + token + R"(", "owner": "ann",
      "$expr": {"$and": [{"$eq": ["$lockUntil", {"$add": ["$expires_at", 1]}]},
                         {"$eq": ["$lockedAt", "$acquired_at"]}]}})"),
            1)
      << "ShedLock sees the end one millisecond after ours";
  EXPECT_EQ(caller.renew("nightly", "ann", mine.token, 2h).verdict, Verdict::granted);
  EXPECT_EQ(count(R"({"$expr": {"$and": [
      {"$eq": ["$lockUntil", {"$add": ["$expires_at", 1]}]},
      {"$gt": ["$lockUntil", {"$add": ["$$NOW", 7000000]}]}]}})"),
            1);
  caller.release("nightly", "ann", mine.token);
  EXPECT_EQ(count(R"({"owner": "", "$expr": {"$lte": ["$lockUntil", "$$NOW"]}})"), 1);
  caller.acquire("endless", "ann", never);
  EXPECT_EQ(count(R"({"_id": "endless", "expires_at": null,
      "lockUntil": {"$date": {"$numberLong": "253402300799999"}}})"),
            1);
  EXPECT_FALSE(jvm("web1").lock("endless"));
  EXPECT_EQ(caller.evict("endless", caller.row("endless").token).verdict, Verdict::released);
  EXPECT_TRUE(jvm("web1").lock("endless"));
}

TEST_F(ShedLockLayout, a_batch_is_answered_as_one_by_one) {
  Caller caller(shedlock());
  MongoJvm jvm = this->jvm("web1");
  ASSERT_TRUE(jvm.lock("b"));
  std::vector<Request> acquires, renewals, releases;
  for (const char* key : {"a", "b", "c"}) {
    acquires.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
    renewals.push_back({.verb = Verb::renew, .key = {key}, .owner = {"ann"}, .ttl = 1h});
    releases.push_back({.verb = Verb::release, .key = {key}, .owner = {"ann"}});
  }
  const auto acquired = caller.ask_all(acquires);
  EXPECT_EQ(acquired[0].verdict, Verdict::granted);
  EXPECT_EQ(acquired[1].verdict, Verdict::busy);
  EXPECT_EQ(acquired[1].owner, "web1 (ShedLock)");
  EXPECT_EQ(acquired[1].token, no_token);
  EXPECT_EQ(acquired[2].verdict, Verdict::granted);
  change(R"([{"$set": {"lockUntil": {"$cond": [{"$eq": ["$_id", "c"]}, "$$NOW", "$lockUntil"]}}}])");
  ASSERT_TRUE(jvm.lock("c"));
  const auto renewed = caller.ask_all(renewals);
  EXPECT_EQ(renewed[0].verdict, Verdict::granted);
  EXPECT_EQ(renewed[1].verdict, Verdict::lost);
  EXPECT_EQ(renewed[2].verdict, Verdict::lost) << "another had it in between";
  const auto released = caller.ask_all(releases);
  EXPECT_EQ(released[0].verdict, Verdict::released);
  EXPECT_EQ(released[1].verdict, Verdict::lost);
  EXPECT_EQ(released[2].verdict, Verdict::lost);
  EXPECT_TRUE(jvm.lock("a"));
  EXPECT_TRUE(jvm.extend("b"));
  EXPECT_TRUE(jvm.extend("c"));
}

TEST_F(ShedLockLayout, a_document_that_is_deleted_or_taken_in_between_is_lost) {
  Caller caller(shedlock());
  const Reply mine = caller.acquire("nightly", "ann");
  mongo(R"({"delete": "shedLock", "deletes": [{"q": {}, "limit": 0}]})");
  EXPECT_TRUE(caller.list({}).leases.empty());
  EXPECT_EQ(caller.renew("nightly", "ann", mine.token).verdict, Verdict::lost);
  const Reply again = caller.acquire("nightly", "ann");
  EXPECT_GT(again.token, mine.token);
  MongoJvm ahead = jvm("web1", 2h);
  ASSERT_TRUE(ahead.lock("nightly"));
  change(R"([{"$set": {"lockUntil": "$$NOW"}}])");
  EXPECT_EQ(caller.renew("nightly", "ann", again.token).verdict, Verdict::lost);
  const Reply last = caller.acquire("nightly", "ann");
  EXPECT_GT(last.token, again.token) << "ShedLock has left it there";
}

TEST_F(ShedLockLayout, a_lease_that_somebody_makes_shorter_ends_there) {
  Caller caller(shedlock());
  const Reply mine = caller.acquire("nightly", "ann", never);
  ASSERT_TRUE(jvm("web1").unlock("nightly", 5min));
  const Millis left = caller.acquire("nightly", "bob").remaining;
  EXPECT_LE(left, 5min);
  EXPECT_GT(left, 4min);
  EXPECT_EQ(caller.renew("nightly", "ann", mine.token, 1h).verdict, Verdict::granted) << "in time";
  EXPECT_FALSE(jvm("web1", 30min).lock("nightly"));
}

TEST_F(ShedLockLayout, a_waiter_polls_for_theirs_and_its_place_outlasts_them) {
  Client client = open(shedlock() + "&unsafe=allow");
  MongoJvm jvm = this->jvm("web1");
  ASSERT_TRUE(jvm.lock("nightly"));
  std::jthread unlocks([&] {
    EXPECT_TRUE(await([&] { return count(R"({"queue.0": {"$exists": true}})") == 1; }));
    EXPECT_TRUE(jvm.extend("nightly", 20min));
    EXPECT_EQ(count(R"({"queue.0": {"$exists": true}})"), 1);
    EXPECT_TRUE(jvm.unlock("nightly"));
  });
  Lease lease = client.acquire("nightly", {.ttl = 1h, .wait = 1min});
  EXPECT_FALSE(jvm.lock("nightly"));
  lease.release();
  EXPECT_TRUE(jvm.lock("nightly"));
}

TEST_F(ShedLockLayout, a_purge_deletes_what_is_free_for_both_and_tokens_rise_across_it) {
  Caller caller(shedlock());
  MongoJvm jvm = this->jvm("web1");
  const Reply mine = caller.acquire("free", "ann");
  caller.release("free", "ann");
  caller.acquire("theirs", "ann");
  caller.release("theirs", "ann");
  ASSERT_TRUE(jvm.lock("theirs"));
  ASSERT_TRUE(jvm.lock("never ours"));
  EXPECT_EQ(caller.acquire("never ours", "ann").verdict, Verdict::busy);
  ASSERT_TRUE(jvm.unlock("never ours"));
  caller.acquire("ours", "ann");
  const auto admin = caller.store().admin();
  EXPECT_TRUE(await([&] { return admin->purge({.free_for = 0s}, soon()).value().keys == 1; }));
  EXPECT_EQ(count(R"({"_id": {"$in": ["theirs", "ours", "never ours"]}})"), 3);
  EXPECT_EQ(count("{}"), 3);
  EXPECT_TRUE(jvm.extend("theirs"));
  EXPECT_TRUE(jvm.lock("free")) << "ShedLock inserts it again";
  ASSERT_TRUE(jvm.unlock("free"));
  EXPECT_GT(caller.acquire("free", "ann").token, mine.token);
}

TEST_F(ShedLockLayout, a_purge_spares_a_lock_of_a_jvm_whose_clock_is_behind) {
  const auto before = [](Millis age) {
    const Millis at = std::chrono::floor<Millis>(wall_now().time_since_epoch()) - age;
    return R"({"$date": {"$numberLong": ")" + std::to_string(at.count()) + R"("}})";
  };
  for (const auto& [key, lock_until] : {std::pair("locked", before(1min)), std::pair("free", before(48h))})
    insert(R"("_id": ")" + std::string(key) + R"(", "owner": "", "token": 5, "expires_at": )" + before(48h) +
           R"(, "queue": [], "lockedBy": "web1", "lockUntil": )" + lock_until);
  Caller caller(shedlock());
  EXPECT_EQ(caller.store().admin()->purge({.free_for = 24h}, soon()).value().keys, 1u);
  EXPECT_EQ(count(R"({"_id": "locked"})"), 1);
}

// Somebody held it when the layout was changed.
TEST_F(ShedLockLayout, a_lease_that_our_own_layout_left_is_a_lease_here) {
  Caller own(with(url(), "collection=shedLock")), beside(shedlock());
  const Reply mine = own.acquire("nightly", "ann");
  EXPECT_FALSE(jvm("web1", 2h).lock("nightly")) << "it has no lockUntil";
  EXPECT_EQ(beside.acquire("nightly", "bob").owner, "ann");
  EXPECT_EQ(beside.renew("nightly", "ann", mine.token, 2h).verdict, Verdict::granted);
  EXPECT_FALSE(jvm("web1").lock("nightly"));
  EXPECT_EQ(beside.release("nightly", "ann", mine.token).verdict, Verdict::released);
  EXPECT_TRUE(jvm("web1").lock("nightly"));
}

TEST_F(ShedLockLayout, a_lease_that_our_own_layout_granted_since_is_a_lease_here_too) {
  Caller own(with(url(), "collection=shedLock")), beside(shedlock());
  beside.release("nightly", "bob", beside.acquire("nightly", "bob").token);
  const Reply mine = own.acquire("nightly", "ann");
  EXPECT_EQ(beside.acquire("nightly", "bob").owner, "ann");
  EXPECT_EQ(beside.renew("nightly", "ann", mine.token, 2h).verdict, Verdict::granted);
  EXPECT_FALSE(jvm("web1", 1h).lock("nightly")) << "from now on it has a lockUntil";
}

TEST_F(ShedLockLayout, odd_documents_are_listed_by_nobody_and_harm_no_other) {
  const std::string far = R"({"$date": {"$numberLong": "253402300799999"}})";
  insert(R"("_id": "a", "lockUntil": "soon", "lockedBy": "web1")");
  insert(R"("_id": "b", "lockUntil": )" + far + R"(, "lockedBy": 7)");
  insert(R"("_id": "c", "lockUntil": )" + far + R"(, "lockedBy": {"name": "web1"}, "token": "odd")");
  insert(R"("_id": "d", "lockUntil": )" + far);
  insert(R"("_id": 7, "lockUntil": )" + far);
  Caller caller(shedlock());
  EXPECT_EQ(caller.acquire("a", "ann").verdict, Verdict::granted) << "nobody holds it, and now it has a date";
  EXPECT_FALSE(jvm("web1").lock("a"));
  for (const char* key : {"b", "c", "d"}) EXPECT_EQ(caller.acquire(key, "ann").verdict, Verdict::busy) << key;
  const auto rows = caller.list({.free = false}).leases;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].owner, "ann");
  EXPECT_EQ(rows[1].owner, "7 (ShedLock)");
}

TEST_F(ShedLockLayout, the_collection_is_shedlocks_usual_one_or_that_which_is_named) {
  EXPECT_EQ(try_store("mongodb://localhost:1/app?layout=shedlock").value()->name(),
            "mongodb://localhost:1/app?collection=shedLock&layout=shedlock");
  EXPECT_EQ(try_store("mongodb://localhost:1/app?layout=shedlock&collection=locks").value()->name(),
            "mongodb://localhost:1/app?collection=locks&layout=shedlock");
  EXPECT_EQ(try_store("mongodb://localhost:1/app?layout=shedlock").value()->in("other").value()->name(),
            "mongodb://localhost:1/app?collection=other&layout=shedlock");
  const auto admin = store()->admin();
  ASSERT_TRUE(jvm("web1").lock("nightly"));
  for (const std::string& command : admin->plan(soon()).value())
    EXPECT_TRUE(mentions(command, "\"shedLock\"")) << command;
  EXPECT_EQ(admin->init(soon()).value().size(), 1u) << "indexes for listing";
  EXPECT_TRUE(admin->plan(soon()).value().empty());
}

using ShedLockTrouble = OwnMongoTest;

// ShedLock never locks a document without lockUntil.
TEST_F(ShedLockTrouble, the_document_of_an_acquire_that_came_too_late_is_free_for_shedlock) {
  Caller caller(with(url(), "layout=shedlock"));
  caller.acquire("warm", "ann");
  server_->pause();
  const auto reply = caller.try_acquire("nightly", "ghost", BootClock::now() + 2500ms);
  server_->resume();
  ASSERT_FALSE(reply);
  EXPECT_TRUE(await([&] {
    return mentions(server_->command("app", R"({"find": "shedLock", "filter": {"_id": "nightly"}})"),
                    "lockUntil");
  }));
  EXPECT_TRUE(MongoJvm(*server_, "app", "web1", 0ms).lock("nightly"));
}

}  // namespace
}  // namespace holdfast::test
