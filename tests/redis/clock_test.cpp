// SPDX-License-Identifier: Apache-2.0
// A server whose clock jumps between two requests.  The real one has only the machine's clock, which a test
// cannot set: so this one speaks by a script.
#include <thread>

#include "stores/redis/lua.h"
#include "tests/redis/suite.h"
#include "tests/support/listener.h"

namespace holdfast::test {
namespace {

// Answers what comes first with the first text, what comes then with the second …, and keeps what it heard.
class Scripted {
 public:
  explicit Scripted(std::vector<std::string> answers)
      : answers_(std::move(answers)), thread_([this] { serve(); }) {}
  std::string url() const { return "redis://" + listener_.place(); }
  // After all answers have been given.
  const std::vector<std::string>& heard() {
    thread_.join();
    return heard_;
  }

 private:
  void serve() {
    const Fd caller = listener_.accept();
    for (const std::string& answer : answers_) {
      heard_.push_back(Listener::hear(caller));
      if (heard_.back().empty()) return;
      Listener::say(caller, answer);
    }
  }
  const std::vector<std::string> answers_;
  std::vector<std::string> heard_;
  const Listener listener_;
  std::jthread thread_;
};

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
// To CLIENT SETNAME, TIME, INFO and GET holdfast:version, which come together.
std::string welcome(std::int64_t second) {
  return "+OK\r\n*2\r\n" + bulk(std::to_string(second)) + bulk("0") + bulk("role:master\r\n") + "$-1\r\n";
}
std::string verdict(std::int64_t second, const std::string& line) {
  return bulk(std::to_string(second) + "000000 " + line);
}

constexpr std::int64_t start = 1'700'000'000, jumped = start + 3600;

TEST(ClockOfRedis, that_jumped_forward_is_learnt_and_the_request_is_sent_again) {
  Scripted server({welcome(start), verdict(jumped, "4 0 0 0 "), verdict(jumped, "0 17 1000 0 ")});
  Caller caller(server.url());
  const auto reply = caller.try_acquire("k");
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->verdict, Verdict::granted);
  EXPECT_EQ(reply->token, Token{17});
  const auto& heard = server.heard();
  ASSERT_EQ(heard.size(), 3u);
  // Void after twenty seconds from now, by the clock that the server had each time.
  EXPECT_TRUE(mentions(heard[1], "\r\n17000000")) << heard[1];
  EXPECT_TRUE(mentions(heard[2], "\r\n17000036")) << heard[2];
}

TEST(ClockOfRedis, that_never_stands_still_grants_nothing) {
  Scripted server({welcome(start), verdict(start + 3600, "4 0 0 0 "), verdict(start + 7200, "4 0 0 0 "),
                   verdict(start + 10800, "4 0 0 0 "), verdict(start + 14400, "4 0 0 0 ")});
  Caller caller(server.url());
  const auto reply = caller.try_acquire("k");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable) << reply.error().detail;
}

TEST(ClockOfRedis, that_was_not_read_for_long_is_read_before_a_short_call) {
  std::vector<std::string> heard;
  ASSERT_TRUE(await([&] {
    Scripted server({welcome(start), "*2\r\n" + bulk(std::to_string(jumped)) + bulk("0"),
                     verdict(jumped, "0 17 1000 0 ")});
    {
      Caller caller(server.url());
      let_pass(600ms);  // idle
      (void)caller.try_acquire("k", "ann", BootClock::now() + 50ms);
    }
    heard = server.heard();
    return heard.size() >= 2 &&
           !heard[1].empty();  // otherwise its time was over before it sent anything: again
  }));
  EXPECT_TRUE(mentions(heard[1], "TIME")) << heard[1];
  EXPECT_FALSE(mentions(heard[1], "EVALSHA")) << heard[1];
}

// The requests for one key take effect in their order, also where some have to be sent again.
TEST_F(RedisTest, what_follows_a_request_that_came_too_late_is_too_late_as_well) {
  Caller caller(server_.url());
  caller.acquire("k", "ann");
  const std::string script(redis::text(redis::Lua::apply));
  const std::string text = redis({"EVAL",
                                  script,
                                  "13",
                                  "holdfast:kept",
                                  "holdfast:index",
                                  "holdfast:held",
                                  "holdfast:purged",
                                  "holdfast:log",
                                  "k",
                                  "holdfast:facts:{k}",
                                  "holdfast:queue:{k}",
                                  "holdfast:places:{k}",
                                  "k",
                                  "holdfast:facts:{k}",
                                  "holdfast:queue:{k}",
                                  "holdfast:places:{k}",
                                  "client",
                                  "1",
                                  "0",  //
                                  "a",
                                  "ann",
                                  "0",
                                  "1000",
                                  "0",
                                  "",  // void since 1970
                                  "r",
                                  "ann",
                                  "0",
                                  "0",
                                  "0",
                                  ""});
  EXPECT_TRUE(mentions(text, "4 ")) << text;
  EXPECT_FALSE(mentions(text, "1 1")) << text;
  EXPECT_EQ(redis({"GET", "k"}), "ann") << "the release waits for the acquire before it";
}

TEST(ClockOfRedis, answers_that_make_no_sense_are_in_doubt) {
  for (const std::string& odd :
       {std::string("+OK\r\n"), std::string("*0\r\n"), std::string(":1\r\n"), verdict(start, "0 17"),
        verdict(start, ""), verdict(start, "granted 1 2 3 "), std::string("*2\r\n+x\r\n+y\r\n"),
        std::string("-ERR upstream failure\r\n"), std::string("-HALFDONE OOM\r\n")}) {
    Scripted server({welcome(start), odd});
    Caller caller(server.url());
    const auto reply = caller.try_acquire("k");
    ASSERT_FALSE(reply) << odd;
    EXPECT_EQ(reply.error().code, Errc::in_doubt) << odd << reply.error().detail;
  }
}

}  // namespace
}  // namespace holdfast::test
