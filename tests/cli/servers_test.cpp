// SPDX-License-Identifier: Apache-2.0
// The command and a server that is not as it should be: dead, frozen, without tables, with another password.
#include <algorithm>
#include <csignal>

#include "tests/cli/home.h"
#include "tests/support/own_servers.h"
#include "tests/support/servers/maria_server.h"
#include "tests/support/servers/postgres_server.h"
#include "tests/support/servers/redis_server.h"

namespace holdfast::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Servers : public ::testing::TestWithParam<ServerKind>, protected Household {
 protected:
  Servers() { environment_["HOLDFAST_STORE"] = server_->url(); }

  static void expect_one_sentence(const Ended& ended, int code) {
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("holdfast: "));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("127.0.0.1")) << "names the store";
    EXPECT_THAT(ended.err, Not(HasSubstr(OwnServer::password)));
  }
  void write_private(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    std::filesystem::permissions(path(name), std::filesystem::perms(0600));
  }
  // Each way to use a store, none of which waits, neither for it nor for a key.
  const std::vector<Words> all_commands_ = {{"run", "-n", "k", "--", "touch", path("ran")},
                                            {"acquire", "-n", "k"},
                                            {"renew", "k", "--owner", "me"},
                                            {"release", "k", "--owner", "me"},
                                            {"ls"},
                                            {"ls", "--watch"},
                                            {"watch"},
                                            {"show", "k"},
                                            {"wait", "-n", "k"},
                                            {"break", "k", "--token", "1", "--reason", "x"},
                                            {"purge"}};
  // CMD prints a line when it gets TERM.
  static constexpr const char* listening = "trap 'echo told; exit 0' TERM; sleep 1000 & wait";

  const std::unique_ptr<OwnServer> server_ = GetParam().make();
};

class StrictServers : public Servers {};

TEST_P(Servers, that_are_dead_are_69_and_one_sentence) {
  server_->kill();
  for (const Words& words : all_commands_) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    expect_one_sentence(ended, 69);
    EXPECT_THAT(ended.err,
                MatchesRegex("holdfast: cannot connect to [a-z]+://[^ ]+: Connection refused.*\n"));
    EXPECT_LT(ended.err.size(), 150u) << "and no more than that: " << ended.err;
  }
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Servers, that_come_back_within_w_are_waited_for) {
  server_->make_tables();
  server_->kill();
  std::vector<Process> all;
  all.push_back(start({"run", "-w", "10m", "k", "--", "touch", path("ran")}));
  all.push_back(start({"acquire", "-w", "10m", "j"}));
  all.push_back(start({"wait", "-w", "10m", "i"}));
  let_pass(Millis(500));
  server_->start();
  for (Process& process : all) {
    EXPECT_EQ(process.wait(), 0) << process.err();
    EXPECT_THAT(process.err(), Not(HasSubstr("connect"))) << "cron would send a mail";
  }
  EXPECT_TRUE(exists("ran"));
}

// Without its password the inner one must not take another store, in which the key would be free.
TEST_P(StrictServers, a_holdfast_inside_reports_that_it_has_no_password) {
  server_->make_tables();
  const Ended ended =
      holdfast({"run", "-n", "k", "--", HOLDFAST_BINARY, "run", "-n", "k", "--", "touch", path("ran")});
  EXPECT_EQ(ended.code, 77) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("HOLDFAST_STORE=@FILE"));
  EXPECT_THAT(ended.err, Not(HasSubstr(OwnServer::password)));
  EXPECT_FALSE(exists("ran"));
}

TEST_P(Servers, that_die_while_somebody_waits_for_a_key_to_be_free_are_not_called_held) {
  server_->make_tables();
  ASSERT_EQ(holdfast({"acquire", "k", "--ttl", "1h"}).code, 0);
  Process waiting = start({"wait", "-w", "2s", "k"});
  server_->kill();
  EXPECT_EQ(waiting.wait(), 69) << waiting.err();
}

TEST_F(Home, PGPASSWORD_is_used_and_not_handed_on) {
  const auto kinds = server_kinds();
  const auto postgres =
      std::find_if(kinds.begin(), kinds.end(), [](const ServerKind& k) { return k.name == "postgres"; });
  if (postgres == kinds.end()) GTEST_SKIP() << "PostgreSQL is missing";
  const auto server = postgres->make();
  server->make_tables();
  std::string url = server->url();
  const std::string secret = std::string(":") + OwnServer::password;
  url.erase(url.find(secret), secret.size());
  for (const char* more : {"", "?passfile=/nowhere", "?sslpassword=of-a-key"}) {
    environment_["HOLDFAST_STORE"] = url + more;
    environment_["PGPASSWORD"] = OwnServer::password;
    const Ended ended = holdfast({"run", "k", "--", "env"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("HOLDFAST_KEY=k"));
    EXPECT_THAT(ended.out, Not(HasSubstr(OwnServer::password)));
  }
}

// A server that lets ten connections in.
class SmallServer : public Home {
 protected:
  static bool is_there(const std::string& name) {
    const auto kinds = server_kinds();
    return std::any_of(kinds.begin(), kinds.end(), [&](const ServerKind& k) { return k.name == name; });
  }
  void expect_that_commands_wait_for_a_connection(const std::string& url) {
    environment_["HOLDFAST_STORE"] = url;
    ASSERT_EQ(holdfast({"init"}).code, 0);
    std::vector<Process> all;
    for (int i = 0; i < 24; ++i) {  // half of them wait for each other too, which takes a second connection
      const std::string key = i % 2 == 0 ? "k" : "k" + std::to_string(i);
      all.push_back(start({"run", "-w", "1m", key, "--", "true"}));
    }
    for (Process& process : all) EXPECT_EQ(process.wait(), 0) << process.err();
  }
};

TEST_F(SmallServer, of_postgresql_is_waited_for_until_it_has_a_connection_left) {
  if (!is_there("postgres")) GTEST_SKIP() << "PostgreSQL is missing";
  const PostgresServer server(
      {.lines = {"max_connections = 10", "superuser_reserved_connections = 0", "max_wal_senders = 0"},
       .fsync = false});
  expect_that_commands_wait_for_a_connection(server.url());
}

TEST_F(SmallServer, of_mariadb_is_waited_for_until_it_has_a_connection_left) {
  if (!is_there("mariadb")) GTEST_SKIP() << "MariaDB is missing";
  const MariaServer server({.lines = {"max_connections = 10"}, .fsync = false});
  expect_that_commands_wait_for_a_connection(server.url());
  EXPECT_GT(std::stoi(server.query("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                                   "VARIABLE_NAME = 'CONNECTION_ERRORS_MAX_CONNECTIONS'")),
            0)
      << "or nobody was refused";
}

TEST_F(SmallServer, of_redis_is_waited_for_until_it_has_a_connection_left) {
  if (!is_there("redis")) GTEST_SKIP() << "Redis is missing";
  const RedisServer server({.lines = {"maxclients 10"}});
  expect_that_commands_wait_for_a_connection(server.url());
  EXPECT_THAT(server.command({"INFO", "stats"}), ContainsRegex("rejected_connections:[1-9]"))
      << "or nobody was refused";
}

TEST_P(StrictServers, that_do_not_know_our_password_are_77_and_one_sentence) {
  const std::string wrong = "swordfish-canary";
  environment_["HOLDFAST_STORE"] = server_->url(wrong);
  for (const Words& words : all_commands_) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    expect_one_sentence(ended, 77);
    EXPECT_THAT(ended.err, Not(HasSubstr(wrong)));
  }
  EXPECT_FALSE(exists("ran"));
}

// The password stands in a configuration or beside it, and not in the URL.
TEST_P(StrictServers, are_opened_with_the_password_of_a_configuration_and_nobody_sees_it) {
  server_->make_tables();
  environment_.erase("HOLDFAST_STORE");
  std::string url = server_->url();
  const std::string inside = std::string(":") + OwnServer::password;
  url.erase(url.find(inside), inside.size());
  const std::string wrong = "swordfish-canary";
  for (const std::string& password : {std::string(OwnServer::password), wrong}) {
    write_private("secret", password + "\n");
    for (const std::string& more :
         {"password = '" + password + "'", "password-file = '" + path("secret") + "'"}) {
      SCOPED_TRACE(more);
      write_private(".config/holdfast/config.toml",
                    "store = 'mine'\n[stores]\nmine = { url = '" + url + "', " + more + " }\n");
      const Ended ended = holdfast({"run", "k", "--", "sh", "-c", "env; exec \"$0\" ls", HOLDFAST_BINARY});
      EXPECT_EQ(ended.code, password == wrong ? 77 : 0) << ended.err;
      EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(password)));
      if (password != wrong) {
        EXPECT_THAT(ended.out, HasSubstr("HOLDFAST_STORE=mine\n"));
        EXPECT_THAT(ended.out, HasSubstr("\nk ")) << "the inner one sees the same store";
      }
      EXPECT_THAT(holdfast({"config"}).out, Not(HasSubstr(password)));
    }
  }
}

TEST_P(Servers, without_tables_are_77_and_init_makes_them) {
  if (holdfast({"init", "--dry-run"}).out.find("CREATE TABLE") == std::string::npos) {
    // This store needs none: nothing, or at most indexes for jobs.
    EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
    return;
  }
  for (const Words& words : all_commands_) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    expect_one_sentence(ended, 77);
    EXPECT_THAT(ended.err, MatchesRegex("(.|\n)*holdfast --store .+ init(.|\n)*"));
  }
  EXPECT_FALSE(exists("ran"));
  EXPECT_THAT(holdfast({"init", "--dry-run"}).out, HasSubstr("CREATE TABLE"));
  const Ended made = holdfast({"init"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("is ready"));
  EXPECT_THAT(holdfast({"init"}).out, HasSubstr("nothing is missing"));
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
}

TEST_P(Servers, that_freeze_under_a_run_end_its_command_before_the_lease_does) {
  server_->make_tables();
  Process process = hold("k", {"--ttl", "7s", "--kill-after", "2s"}, listening);
  server_->pause();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("told"));
  EXPECT_THAT(process.err(), HasSubstr("the lease on k was lost: "));
  server_->resume();
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Servers, that_die_under_a_run_end_its_command_before_the_lease_does) {
  server_->make_tables();
  Process process = hold("k", {"--ttl", "7s", "--kill-after", "2s"}, listening);
  server_->kill();
  EXPECT_EQ(process.wait(), 76);
  EXPECT_THAT(process.out(), HasSubstr("told"));
  EXPECT_THAT(process.err(), HasSubstr("the lease on k was lost: "));
  server_->start();
  EXPECT_TRUE(await([&] { return is_free("k"); }));
}

TEST_P(Servers, that_come_back_in_time_are_not_noticed_by_the_command) {
  server_->make_tables();
  Process::Plan plan =
      holdfast_plan({"run", "k", "--ttl", "30s", "--", "sh", "-c", "echo held; read line; exit 5"});
  plan.keep_input = true;
  Process process(plan);
  ASSERT_TRUE(process.await_out("held\n")) << process.err();
  server_->pause();
  let_pass(Millis(1000));
  server_->resume();
  EXPECT_TRUE(is_renewed("k", 1)) << "it is renewed after the pause";
  server_->kill();
  server_->start();
  EXPECT_TRUE(is_renewed("k", 1)) << "and after the death";
  process.type("done\n");
  EXPECT_EQ(process.wait(), 5) << process.err();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Servers, that_are_stopped_while_somebody_waits_are_waited_for_no_longer_than_w) {
  server_->make_tables();
  const Process owner = hold("k", {"--ttl", "1m"});
  Process waiter = start({"run", "-w", "5s", "k", "true"});
  ASSERT_TRUE(await([&] {
    return holdfast({"show", "k", "--json"}).out.find("\"waiting\":1") != std::string::npos;
  }));
  server_->kill();
  const int code = waiter.wait();
  EXPECT_TRUE(code == 69 || code == 75) << code << waiter.err();
  EXPECT_THAT(waiter.err(), Not(HasSubstr(OwnServer::password)));
}

TEST_P(StrictServers, see_the_password_and_nobody_else_does) {
  server_->make_tables();
  Process process = start({"run", "k", "--", "sh", "-c", "echo held; env; exec sleep 1000"});
  ASSERT_TRUE(process.await_out("held\n")) << process.err();
  ASSERT_TRUE(await([&] { return command_of(process.pid()) != 0; }));
  const std::vector<pid_t> all = session_of(process.pid());
  EXPECT_GE(all.size(), 3u) << "main, guard and command";
  for (const pid_t pid : all) {
    for (const char* const file : {"cmdline", "environ", "comm", "status"})
      EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(OwnServer::password))) << file;
  }
  process.signal(SIGTERM);
  process.wait();
  EXPECT_THAT(process.out() + process.err(), Not(HasSubstr(OwnServer::password)));

  std::vector<Words> commands = all_commands_;
  std::erase_if(commands,
                [](const Words& words) { return words.back().ends_with("watch"); });  // they do not end
  commands.insert(commands.end(), {{"init"}, {"init", "--dry-run"}});
  for (Words words : commands) {
    SCOPED_TRACE(::testing::PrintToString(words));
    words.insert(words.begin() + 1, "--json");
    const Ended ended = holdfast(words);
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(OwnServer::password)));
    Words by_option = words;
    by_option.insert(by_option.begin(), {"--store", server_->url()});
    const Ended warned = holdfast(by_option);
    EXPECT_THAT(warned.out + warned.err, Not(HasSubstr(OwnServer::password)));
  }
}

HOLDFAST_ON_EVERY_SERVER(Servers);
HOLDFAST_ON_EVERY_STRICT_SERVER(StrictServers);

}  // namespace
}  // namespace holdfast::test
