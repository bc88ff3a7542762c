// SPDX-License-Identifier: Apache-2.0
// Defect 13 of the ancestors (reference/ancestors.md 8): locker knew by an English sentence that somebody
// else had made a key, and failed at a server that speaks another language.
#include <barrier>
#include <cstdlib>

#include "holdfast/spi/job_engine.h"
#include "tests/defects/suite.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/postgres_server.h"

namespace holdfast::test {
namespace {

// A server of its own that speaks German.
struct Speaker {
  std::string url;
  std::function<void()> fail;  // throws the server's error about an invalid statement
  std::shared_ptr<void> server;
};
struct SpeakerKind {
  std::string name;
  std::function<Speaker()> make;
};
void PrintTo(const SpeakerKind& kind, std::ostream* out) { *out << kind.name; }

std::vector<SpeakerKind> speakers() {
  std::vector<SpeakerKind> kinds;
#ifdef HOLDFAST_POSTGRES
  if (postgres_missing().empty()) {
    kinds.push_back({"postgres", [] {
                       // Without a German locale, which few machines have, but with its translations.
                       ::setenv("LANGUAGE", "de", 1);
                       const PostgresOptions options{
                           .authentication = "trust", .lines = {"lc_messages = 'C.UTF-8'"}, .fsync = false};
                       const auto server = std::make_shared<PostgresServer>(options);
                       ::unsetenv("LANGUAGE");
                       return Speaker{server->url("postgres", "postgres", ""),
                                      [server] { server->execute("SELECT nonsense"); }, server};
                     }});
  }
#endif
#ifdef HOLDFAST_MARIADB
  const auto maria = [](bool mysql) {
    const MariaOptions options{.lines = {"lc_messages = de_DE"}, .mysql = mysql, .fsync = false};
    const auto server = std::make_shared<MariaServer>(options);
    return Speaker{server->url(), [server] { server->query("SELECT nonsense"); }, server};
  };
  if (mariadb_missing().empty()) kinds.push_back({"mariadb", [=] { return maria(false); }});
  if (mysql_missing().empty()) kinds.push_back({"mysql", [=] { return maria(true); }});
#endif
  return kinds;
}

class LanguageDefects : public ::testing::TestWithParam<SpeakerKind> {};

TEST_P(LanguageDefects, there_a_key_that_two_make_at_once_fails_in_german_here_one_has_it) {
  const Speaker german = GetParam().make();
  try {
    german.fail();
    FAIL() << "nonsense is understood";
  } catch (const std::exception& e) {
    const std::string said = e.what();
    if (said.find("existiert nicht") == std::string::npos && said.find("nbekannt") == std::string::npos)
      GTEST_SKIP() << "its German is not installed: " << said;
  }
  constexpr std::size_t keys = 20, clients = 4;
  std::barrier start(clients);
  std::vector<std::atomic<int>> winners(keys), loners(keys);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      const auto store = try_store(german.url).value();
      EXPECT_TRUE(store->admin()->init(BootClock::now() + 20s)) << "all at once";
      const auto jobs = store->jobs(BootClock::now() + 20s).value();
      Client client(store);
      std::vector<Lease> won;
      for (std::size_t n = 0; n < keys; ++n) {
        const std::string key = "key " + std::to_string(n);
        start.arrive_and_wait();
        auto lease = client.try_acquire(key, {.ttl = 1h});
        EXPECT_TRUE(lease || lease.error().busy()) << lease.error().detail;
        winners[n] += lease.has_value();
        if (lease) won.push_back(*std::move(lease));
        start.arrive_and_wait();
        const std::string job = "job " + key;
        const NewJob loner{.name = "Job", .key = job, .unique = Unique::loner};
        const auto told = jobs->enqueue(loner, BootClock::now() + 20s);
        EXPECT_TRUE(told) << told.error().detail;
        loners[n] += told && told->what == EnqueueReply::What::enqueued;
      }
      start.arrive_and_wait();
    });
  }
  threads.clear();
  for (const auto& count : winners) EXPECT_EQ(count, 1);
  for (const auto& count : loners) EXPECT_EQ(count, 1);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LanguageDefects);
INSTANTIATE_TEST_SUITE_P(At, LanguageDefects, ::testing::ValuesIn(speakers()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace holdfast::test
