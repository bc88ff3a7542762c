// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "bench/disk.h"
#include "bench/pipe_wire.h"
#include "bench/raw_mongodb.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/mongo_server.h"

namespace holdfast::bench {
namespace {

class MongoKeys final : public KeysByHand {
 public:
  MongoKeys(const std::string& url, std::string locks) : connection_(url), locks_(std::move(locks)) {}

  // Inside the server: the document as often as there are numbers, each with a name of its own.
  void copy_seed(std::uint64_t count) override {
    constexpr std::uint64_t at_once = 10'000;
    for (std::uint64_t from = 0; from < count; from += at_once) {
      const std::uint64_t to = std::min(count, from + at_once);
      ask(R"({"aggregate": ")" + locks_ + R"(", "cursor": {}, "pipeline": [{"$match": {"_id": ")" + seed +
          R"("}}, {"$addFields": {"i": {"$range": [)" + std::to_string(10'000'001 + from) + ", " +
          std::to_string(10'000'001 + to) +
          R"(]}}}, {"$unwind": "$i"}, {"$addFields": {"_id": {"$concat": )" +
          R"(["free-", {"$substrBytes": [{"$toString": "$i"}, 1, 7]}]}}}, {"$project": {"i": 0}}, )" +
          R"({"$merge": {"into": ")" + locks_ + R"(", "whenMatched": "fail"}}]})");
    }
  }
  std::size_t read_all(std::size_t limit) override { return read("{}", limit); }
  std::size_t read_held(std::size_t limit) override { return read(R"({"owner": {"$gt": ""}})", limit); }

 private:
  Bson ask(const std::string& json) {
    bson_error_t error{};
    bson_t* const command = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.data()),
                                               static_cast<ssize_t>(json.size()), &error);
    if (command == nullptr) throw std::runtime_error("by hand: " + std::string(&error.message[0]));
    return connection_.ask(Bson(command));
  }
  std::size_t read(const std::string& filter, std::size_t limit) {
    const std::string number = std::to_string(limit);
    return ask(R"({"find": ")" + locks_ + R"(", "filter": )" + filter + R"(, "sort": {"_id": 1}, "limit": )" +
               number + R"(, "batchSize": )" + number + "}")
        .count("cursor.firstBatch");
  }

  MongoConnection connection_;
  const std::string locks_;
};

// One server, not a replica set: it tells nobody that a key has become free, so those who wait ask.
class MongoSubject final : public Subject {
 public:
  MongoSubject() : watching_(url()) {
    make_ready(url());
    const Bson build = watching_.ask(Bson(BCON_NEW("buildInfo", BCON_INT32(1))));
    naming_.store = "MongoDB " + build.text("version");
  }

  const Naming& naming() const override { return naming_; }
  std::string url() const override { return server_.url(); }
  std::unique_ptr<ByHand> by_hand() override {
    return std::make_unique<RawMongo>(url(), RawMongo::Concern::journalled);
  }
  std::unique_ptr<Wire> wire() override { return std::make_unique<PipeWire>(); }

  std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) override {
    return std::make_unique<MongoKeys>(url(), locks);
  }

  std::vector<Rival> rivals(std::vector<std::string>&) override {
    const auto raw = std::make_shared<RawMongo>(url(), RawMongo::Concern::memory);
    return {{"the same without the journal", Role::floor,
             [raw](double seconds) {
               return rate_of(seconds, [&] { raw->acquire_and_release("in-memory", "me"); });
             }},
            {"twice ping", Role::floor,
             [raw](double seconds) { return rate_of(seconds, [&] { raw->ask(), raw->ask(); }); }},
            twice_to_disk(server_.folder())};
  }

  // Commands, and what the driver asks of itself now and then.
  std::optional<double> served() override {
    const Bson status = watching_.ask(Bson(BCON_NEW("serverStatus", BCON_INT32(1))));
    double sum = 0;
    for (const char* const kind : {"insert", "query", "update", "delete", "getmore", "command"})
      sum += static_cast<double>(status.number((std::string("opcounters.") + kind).c_str()));
    return sum - ++asked_;
  }

  // The engine that tests have is asked through one thread: a hundred that open it at once do not all get in.
  int crowd() const override { return 20; }

 private:
  test::MongoServer server_;
  MongoConnection watching_;
  double asked_ = 0;
  Naming naming_{.store = {},
                 .by_hand = "findAndModify by hand",
                 .batch = "64 in an update by hand",
                 .question = "ping",
                 .wire = "a byte through a pipe"};
};

}  // namespace

SubjectKind mongodb_subject() {
  return {"mongodb", test::mongodb_missing, [] { return std::make_unique<MongoSubject>(); }};
}

}  // namespace holdfast::bench
