// SPDX-License-Identifier: Apache-2.0
#include "bench/disk.h"
#include "bench/pipe_wire.h"
#include "bench/raw_mongodb.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/mongo_server.h"

namespace holdfast::bench {
namespace {

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
