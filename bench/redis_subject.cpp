// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "bench/lua/copy_jobs.lua.h"
#include "bench/lua/copy_key.lua.h"
#include "bench/raw_redis.h"
#include "bench/redis_py.h"
#include "bench/subject.h"
#include "bench/workload.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::bench {
namespace {

std::string field(const std::string& info, const std::string& name) {
  const auto at = info.find(name + ":");
  if (at == std::string::npos) throw std::runtime_error("Redis does not tell its " + name);
  const auto from = at + name.size() + 1;
  return info.substr(from, info.find_first_of("\r\n", from) - from);
}

// Of a lock table, which is a prefix here.
class RedisKeys final : public KeysByHand {
 public:
  RedisKeys(int port, const std::string& locks) : connection_(port), prefix_(locks + ":") {}

  void copy_seed(std::uint64_t count) override {
    constexpr std::uint64_t at_once = 10'000;  // nobody else is served while a script runs
    for (std::uint64_t from = 1; from <= count; from += at_once) {
      const std::string last = std::to_string(std::min(count, from + at_once - 1));
      connection_.ask({"EVAL", copy_key_lua, "0", prefix_, seed, std::to_string(from), last});
    }
  }

  std::size_t read_all(std::size_t limit) override { return read("index", limit); }
  std::size_t read_held(std::size_t limit) override { return read("held", limit); }

 private:
  // An index of the store's, and then what is kept of each key in one pipeline: Redis has no other way to
  // find keys than to look at all of them.
  std::size_t read(const std::string& index, std::size_t limit) {
    const Answer keys = connection_.ask(
        {"ZRANGEBYLEX", "holdfast:" + index + ":" + prefix_, "-", "+", "LIMIT", "0", std::to_string(limit)});
    for (std::size_t i = 0; i < keys->elements; ++i) {
      const std::string name = prefix_ + std::string(keys->element[i]->str, keys->element[i]->len);
      connection_.send({"GET", name});
      connection_.send({"HGETALL", "holdfast:facts:{" + name + "}"});
    }
    for (std::size_t i = 0; i < 2 * keys->elements; ++i) connection_.next();
    return keys->elements;
  }

  RedisConnection connection_;
  const std::string prefix_;
};

// With a log that goes to the disk once a second, as leases want it; nobody waits for that.
class RedisSubject final : public Subject {
 public:
  RedisSubject() : watching_(server_.port()) {
    make_ready(url());
    naming_.store = "Redis " + field(info("server"), "redis_version");
  }

  const Naming& naming() const override { return naming_; }
  std::string url() const override { return server_.url(); }
  std::unique_ptr<ByHand> by_hand() override { return std::make_unique<RawRedis>(server_.port()); }
  std::unique_ptr<Wire> wire() override { return std::make_unique<PublishWire>(server_.port()); }

  std::unique_ptr<KeysByHand> keys_by_hand(const std::string& locks) override {
    return std::make_unique<RedisKeys>(server_.port(), locks);
  }

  std::vector<Rival> rivals(std::vector<std::string>& notes) override {
    const auto raw = std::make_shared<RawRedis>(server_.port());
    const auto python = std::make_shared<RedisPy>(server_.port());
    std::vector<Rival> all = {{"twice PING", Role::floor, [raw](double seconds) {
                                 return rate_of(seconds, [&] { raw->ask(), raw->ask(); });
                               }}};
    if (python->missing().empty())
      all.push_back({"redis-py " + python->version() + "'s Lock", Role::reference,
                     [python](double seconds) { return python->rate(seconds); }});
    else
      notes.push_back("redis-py's Lock is left out: " + python->missing());
    return all;
  }

  bool copy_jobs(const std::string& locks, std::uint64_t count) override {
    RedisConnection connection(server_.port());
    const Answer last = connection.ask({"KEYS", "holdfast:jobs:=*:" + locks + "::last"});
    if (last->elements != 1) throw std::runtime_error("copying jobs: there are none below " + locks);
    std::string base(last->element[0]->str, last->element[0]->len);
    base.resize(base.size() - std::string_view("last").size());
    // Nobody else is served while a script runs.
    constexpr std::uint64_t at_once = 10'000;
    auto there = static_cast<std::uint64_t>(connection.ask({"ZCARD", base + "ready:bench"})->integer);
    while (there < count) {
      const std::string more = std::to_string(std::min(at_once, count - there));
      const Answer now = connection.ask({"EVAL", copy_jobs_lua, "0", base, "bench", more});
      there = static_cast<std::uint64_t>(now->integer);
    }
    return true;
  }

  // Commands; those that a script calls are among them.
  std::optional<double> served() override {
    return std::stod(field(info("stats"), "total_commands_processed")) - ++questions_;
  }

 private:
  std::string info(std::string_view section) {
    const Answer answer = watching_.ask({"INFO", section});
    return {answer->str, answer->len};
  }

  test::RedisServer server_;
  RedisConnection watching_;
  double questions_ = 0;
  Naming naming_{.store = {},
                 .by_hand = "SET NX PX and a script by hand",
                 .batch = "64 in a pipeline by hand",
                 .question = "PING",
                 .wire = "PUBLISH to SUBSCRIBE"};
};

}  // namespace

SubjectKind redis_subject() {
  return {"redis", test::redis_missing, [] { return std::make_unique<RedisSubject>(); }};
}

}  // namespace holdfast::bench
