// SPDX-License-Identifier: Apache-2.0
// A password that we were given is seen by nobody else: a canary is planted, and looked for everywhere.
#include <sys/stat.h>

#include <csignal>
#include <functional>

#include "tests/cli/home.h"
#include "tests/support/file_lock.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* canary = "hunter2-canary";
// The same, written as one may write it in a URL; a part of it, so that it is not all of it either.
constexpr const char* encoded_canary = "hunter2%2Dcan%61ry";
// As we write one into a URL.
constexpr const char* wholly_encoded_canary = "%68%75%6E%74%65%72%32%2D%63%61%6E%61%72%79";

class Secrets : public Home {
 protected:
  // The embedded store has no passwords (servers_test.cpp has those that do).  But what looks like one is
  // treated as one, here the name of a file.
  std::string secret_url() const { return "sqlite:" + path("a password=") + canary; }
  std::string secret_file(mode_t mode) const {
    std::ofstream(path("url")) << secret_url() << "\nnot this\n";
    ::chmod(path("url").c_str(), mode);
    return "@" + path("url");
  }

  // All ways to give a URL; each is tried on an environment of its own.
  enum class Way {
    option,
    option_with_equals,
    environment,
    file,
    file_by_environment,
    config,
    config_by_name
  };
  static constexpr Way ways[] = {Way::option,        Way::option_with_equals,  Way::environment,
                                 Way::file,          Way::file_by_environment, Way::config,
                                 Way::config_by_name};
  Words given(Way way, const std::string& url, Words words) {
    forget();
    if (way == Way::option) words.insert(words.begin(), {"--store", url});
    if (way == Way::option_with_equals) words.insert(words.begin(), "--store=" + url);
    if (way == Way::environment) environment_["HOLDFAST_STORE"] = url;
    if (way == Way::file) words.insert(words.begin(), {"--store", secret_file(0600)});
    if (way == Way::file_by_environment) environment_["HOLDFAST_STORE"] = secret_file(0600);
    if (way == Way::config) configure("store = '" + url + "'\n");
    if (way == Way::config_by_name) {
      configure("[stores]\nmine = '" + url + "'\n");
      words.insert(words.begin(), {"--store", "mine"});
    }
    return words;
  }
  void forget_variables() {
    for (const char* const name : {"HOLDFAST_STORE", "PGPASSWORD", "MYSQL_PWD"}) environment_.erase(name);
  }
  void forget() {
    forget_variables();
    std::filesystem::remove(path(".config/holdfast/config.toml"));
  }
  void configure(const std::string& text) const {
    std::filesystem::create_directories(path(".config/holdfast"));
    std::ofstream(path(".config/holdfast/config.toml")) << text;
    ::chmod(path(".config/holdfast/config.toml").c_str(), 0600);
  }

  // All ways to give a password to a server, each of which gets the words to be run.
  struct Planted {
    const char* name;
    std::function<void(Words&)> plant;
  };
  std::vector<Planted> plants(const std::string& scheme);
  static Words option(const std::string& value, Words words) {
    words.insert(words.begin(), {"--store", value});
    return words;
  }
  static void expect_nothing_in(const Ended& ended) {
    EXPECT_THAT(ended.out, Not(HasSubstr(canary)));
    EXPECT_THAT(ended.err, Not(HasSubstr(canary)));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(encoded_canary)));
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(wholly_encoded_canary)));
  }
};

// The server is not there: port 1 is nobody's.
std::vector<Secrets::Planted> Secrets::plants(const std::string& scheme) {
  const std::string plain = scheme + "://me@127.0.0.1:1/db";
  const std::string url = scheme + "://me:" + canary + "@127.0.0.1:1/db";
  const std::string encoded = scheme + "://me:" + encoded_canary + "@127.0.0.1:1/db";
  const std::string parameter = plain + "?password=" + canary;
  std::ofstream(path("secret")) << canary << "\n";
  ::chmod(path("secret").c_str(), 0600);
  const auto by_option = [](std::string given) {
    return [given](Words& words) { words = option(given, words); };
  };
  const auto by_variable = [this](std::string name, std::string value) {
    return [this, name, value](Words&) { environment_[name] = value; };
  };
  const auto by_config = [this](std::string text) { return [this, text](Words&) { configure(text); }; };
  const auto beside = [&](const std::string& more) {
    return by_config("store = 'mine'\n[stores]\nmine = { url = '" + plain + "', " + more + " }\n");
  };
  return {
      {"the URL as an option", by_option(url)},
      {"percent-encoded as an option", by_option(encoded)},
      {"a parameter as an option", by_option(parameter)},
      {"the URL in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", url)},
      {"percent-encoded in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", encoded)},
      {"a parameter in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", parameter)},
      {"@FILE",
       [=, this](Words& words) {
         std::ofstream(path("url")) << url << "\n";
         ::chmod(path("url").c_str(), 0600);
         words = option("@" + path("url"), words);
       }},
      {"the URL in a configuration", by_config("store = '" + url + "'\n")},
      {"percent-encoded in a configuration", by_config("store = '" + encoded + "'\n")},
      {"beside the URL in a configuration", beside(std::string("password = '") + canary + "'")},
      {"password-file", beside("password-file = '" + path("secret") + "'")},
      {"PGPASSWORD or MYSQL_PWD",
       [=, this](Words& words) {
         environment_["PGPASSWORD"] = environment_["MYSQL_PWD"] = canary;
         words = option(plain, words);
       }},
  };
}

TEST_F(Secrets, no_process_of_a_run_shows_it_and_its_command_does_not_know_it) {
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    Process process =
        start(given(way, secret_url(), {"run", "k", "--", "sh", "-c", "echo held; env; exec sleep 1000"}));
    ASSERT_TRUE(process.await_out("held\n")) << process.err();
    ASSERT_TRUE(await([&] { return command_of(process.pid()) != 0; }));
    const std::vector<pid_t> all = session_of(process.pid());
    EXPECT_GE(all.size(), 3u) << "main, guard and command";
    for (const pid_t pid : all) {
      for (const char* const file : {"cmdline", "environ", "comm", "status"})
        EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
    }
    process.signal(SIGTERM);
    process.wait();
    expect_nothing_in({0, process.out(), process.err()});
  }
}

TEST_F(Secrets, no_process_of_a_worker_shows_it_and_its_programs_do_not_know_it) {
  std::ofstream(path("program")) << "#!/bin/sh\nenv; echo begun; exec sleep 1000\n";
  ::chmod(path("program").c_str(), 0700);
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    ASSERT_EQ(holdfast(given(way, secret_url(), {"jobs", "enqueue", "X", "--limit", "0"})).code, 0);
    Process process =
        start(given(way, secret_url(), {"jobs", "work", "--exec", path("program"), "--grace", "0s"}));
    ASSERT_TRUE(process.await_out("begun\n")) << process.err();
    const std::vector<pid_t> all = session_of(process.pid());
    EXPECT_GE(all.size(), 4u) << "worker, nursery, guard and program";
    for (const pid_t pid : all) {
      for (const char* const file : {"cmdline", "environ", "comm", "status"})
        EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
    }
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0);
    expect_nothing_in({0, process.out(), process.err()});
  }
}

TEST_F(Secrets, fence_hands_no_password_on_and_shows_none_while_it_waits) {
  environment_["HOLDFAST_STORE"] = std::string("redis://:") + canary + "@127.0.0.1:1/";
  const Ended ended = holdfast({"fence", "doc", "5", "--", "env"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("HOLDFAST_STORE=redis://:***@127.0.0.1:1/\n"));
  expect_nothing_in(ended);
  Process inside = start({"fence", "doc", "5", "--", "sh", "-c", "echo inside; exec sleep 1000"});
  ASSERT_TRUE(inside.await_out("inside\n")) << inside.err();
  Process waiting = start({"fence", "doc", "6", "--", "true"});
  ASSERT_TRUE(await([&] { return is_waited_for(path(".doc.fence")); }));
  for (const pid_t pid : {inside.pid(), waiting.pid()}) {
    for (const char* const file : {"cmdline", "environ"})
      EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
  }
  inside.signal(SIGTERM);
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
}

TEST_F(Secrets, fence_asks_no_store_and_takes_none) {
  const std::string url = std::string("redis://:") + canary + "@127.0.0.1:1/";
  for (const Words& words : {Words{"fence", "--store", url, "-w", "1s", "doc", "6", "--", "true"},
                             Words{"--store=" + url, "fence", "doc", "6", "--", "true"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr("--store is not for fence"));
    expect_nothing_in(ended);
  }
}

TEST_F(Secrets, of_several_stores_every_one_is_hidden_and_the_last_one_holds) {
  const std::string other = std::string("redis://:other-") + canary + "@127.0.0.1:1/";
  Process process = start({"--store", other, "run", "--store=" + other, "--store",
                           "sqlite:" + path("last.db"), "k", "--", "sh", "-c", "echo held; exec sleep 1000"});
  ASSERT_TRUE(process.await_out("held\n")) << process.err();
  for (const pid_t pid : session_of(process.pid()))
    EXPECT_THAT(proc_file(pid, "cmdline"), Not(HasSubstr(canary)));
  EXPECT_THAT(process.err(), HasSubstr("--store holds a password"));
  EXPECT_TRUE(exists("last.db"));
  process.signal(SIGTERM);
  process.wait();
  expect_nothing_in({0, process.out(), process.err()});
}

TEST_F(Secrets, no_command_says_it_whatever_happens) {
  const std::vector<Words> commands = {{"ls"},
                                       {"show", "k"},
                                       {"acquire", "k", "--owner", "me"},
                                       {"renew", "k", "--owner", "me"},
                                       {"release", "k", "--owner", "me"},
                                       {"run", "k", "true"},
                                       {"wait", "k"},
                                       {"init"},
                                       {"init", "--dry-run"},
                                       {"purge"},
                                       {"break", "k", "--token", "1", "--reason", "x"},
                                       {"help"},
                                       {"version"}};
  std::ofstream(path("letter password=") + canary)
      << "this is a letter and not a database, and not a short one";
  std::string unreadable = "sqlite:" + path("letter password=") + canary;
  for (const std::string& url :
       {secret_url(), unreadable, std::string("postgres://me:") + canary + "@127.0.0.1:1/db",
        std::string("redis://:") + canary + "@127.0.0.1:1",
        std::string("mongodb://me:") + canary + "@127.0.0.1:1/db",
        std::string("mariadb://me:") + canary + "@127.0.0.1:1/db",
        std::string("mysql://127.0.0.1:1/d?password=") + canary, std::string("nonsense password=") + canary,
        std::string("sqlite:x.db?token=") + canary}) {
    for (const Words& words : commands) {
      for (const Way way : {Way::option, Way::option_with_equals, Way::environment}) {
        SCOPED_TRACE(url + " " + words.front());
        expect_nothing_in(holdfast(given(way, url, words)));
        Words json = words;
        json.insert(json.begin() + 1, "--json");
        expect_nothing_in(holdfast(given(way, url, json)));
      }
    }
  }
}

// Whoever knows it or not: no command, no store and no way to give it makes it show.
TEST_F(Secrets, however_it_was_given_no_command_says_it_when_the_server_is_dead) {
  const std::vector<Words> commands = {
      {"run", "k", "--", "env"}, {"ls", "--json"}, {"show", "k"},  {"doctor"},       {"config"},
      {"config", "--json"},      {"config", "k"},  {"jobs", "ls"}, {"explain", "k"}, {"help", "run"}};
  for (const char* const scheme : {"postgres", "redis", "mongodb", "mariadb"}) {
    for (const Planted& planted : plants(scheme)) {
      for (const Words& command : commands) {
        SCOPED_TRACE(std::string(scheme) + ", " + planted.name + ": " + ::testing::PrintToString(command));
        forget();
        Words words = command;
        planted.plant(words);
        const Ended ended = holdfast(words);
        expect_nothing_in(ended);
        if (command[0] == "config" || command[0] == "help")
          EXPECT_EQ(ended.code, 0) << ended.err;
        else
          EXPECT_NE(ended.code, 0);
      }
    }
  }
}

TEST_F(Secrets, however_it_was_given_config_shows_that_there_is_one_and_not_which) {
  for (const Planted& planted : plants("postgres")) {
    SCOPED_TRACE(planted.name);
    forget();
    Words words{"config"};
    planted.plant(words);
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::string_view name = planted.name;
    const std::string shown = name == "@FILE"                     ? "@" + path("url")
                              : name == "password-file"           ? "password in " + path("secret")
                              : name == "PGPASSWORD or MYSQL_PWD" ? "me@127.0.0.1"
                                                                  : "***";
    EXPECT_THAT(ended.out, HasSubstr(shown));
  }
}

TEST_F(Secrets, what_looks_again_and_again_does_not_show_it) {
  for (const Way way : ways) {
    const Words store = given(way, secret_url(), {});
    const auto with_store = [&](const Words& words) {
      Words all = store;
      all.insert(all.end(), words.begin(), words.end());
      return all;
    };
    for (const Words& words : {Words{"watch", "--interval", "100ms"}, Words{"ls", "--watch"}}) {
      SCOPED_TRACE(words.front() + " " + std::to_string(static_cast<int>(way)));
      Process watching = start(with_store(words));
      ASSERT_TRUE(await([&] {
        EXPECT_EQ(holdfast(with_store({"run", "seen", "sleep", "0.2"})).code, 0);
        return watching.has_ended() || watching.out().find("seen") != std::string::npos;
      }));
      for (const pid_t pid : session_of(watching.pid())) {
        for (const char* const file : {"cmdline", "environ", "status"})
          EXPECT_THAT(proc_file(pid, file), Not(HasSubstr(canary))) << file;
      }
      watching.signal(SIGINT);
      watching.wait();
      expect_nothing_in({0, watching.out(), watching.err()});
    }
  }
}

TEST_F(Secrets, a_mistake_beside_it_does_not_show_it) {
  const std::string url = std::string("postgres://me:") + canary + "@127.0.0.1:1/db";
  for (const Words& words :
       {Words{"--stoer", url, "ls"}, Words{"ls", url, "more"}, Words{url}, Words{"run", "--store", url},
        Words{"--store", url, "frobnicate"}, Words{"run", "k", "--ttl", url, "true"},
        Words{"run", "-w", url, "k", "true"}, Words{"run", "-E", url, "k", "true"},
        Words{"ls", "--sort", url}, Words{"break", "k", "--token", url, "--reason", "x"}, Words{"help", url},
        Words{"purge", "--older-than", url}}) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = holdfast(words);
    EXPECT_NE(ended.code, 0);
    expect_nothing_in(ended);
  }
}

TEST_F(Secrets, a_crash_leaves_no_core_with_it) {
  // CMD's parent is the guard, and its parent the main process: both end as in a crash.
  const std::string crash = "main=$(cut -d' ' -f4 /proc/$PPID/stat); kill -ABRT $main; kill -ABRT $PPID";
  const auto crashed = [&](Way way, const std::string& url) {
    Words words{"bash", "-c", "ulimit -c unlimited; \"$@\"; exit $?", "bash", HOLDFAST_BINARY};
    const Words command = given(way, url, {"run", "k", "--", "sh", "-c", crash});
    words.insert(words.end(), command.begin(), command.end());
    Process process(plan(words));
    EXPECT_EQ(process.wait(), 128 + SIGABRT) << process.err();
    return process.err();
  };
  if (crashed(Way::option, "sqlite:" + path("plain.db")).find("core dumped") == std::string::npos)
    GTEST_SKIP() << "this machine writes no cores at all, so nothing can be shown";
  for (const Way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    EXPECT_THAT(crashed(way, secret_url()), Not(HasSubstr("core dumped")));
  }
  // Also of a store that is not used: the file was read all the same.
  configure("store = '" + ("sqlite:" + path("plain.db")) + "'\n[stores]\nother = '" + secret_url() + "'\n");
  const Words words{
      "bash", "-c", "ulimit -c unlimited; \"$@\"; exit $?", "bash", HOLDFAST_BINARY, "run", "k", "--", "sh",
      "-c",   crash};
  forget_variables();
  Process process(plan(words));
  EXPECT_EQ(process.wait(), 128 + SIGABRT) << process.err();
  EXPECT_THAT(process.err(), Not(HasSubstr("core dumped")));
}

TEST_F(Secrets, a_file_that_others_can_read_is_refused_if_it_holds_one) {
  for (const mode_t mode : {0640u, 0604u, 0620u}) {
    const Ended ended = holdfast({"--store", secret_file(mode), "ls"});
    EXPECT_EQ(ended.code, 77);
    EXPECT_THAT(ended.err, HasSubstr(path("url")));
    EXPECT_THAT(ended.err, HasSubstr("chmod 600"));
    expect_nothing_in(ended);
  }
  EXPECT_EQ(holdfast({"--store", secret_file(0400), "ls"}).code, 0);
}

TEST_F(Secrets, a_file_without_one_may_be_read_by_all) {
  std::ofstream(path("url")) << "sqlite:" << path("from a file.db") << "\r\n";
  ::chmod(path("url").c_str(), 0644);
  EXPECT_EQ(holdfast({"--store", "@" + path("url"), "run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("from a file.db"));
}

TEST_F(Secrets, a_file_that_says_nothing_is_refused_and_named) {
  std::ofstream(path("empty")) << "\n";
  for (const char* const name : {"empty", "missing", "."}) {
    const Ended ended = holdfast({"--store", "@" + path(name), "ls"});
    EXPECT_EQ(ended.code, 77);
    EXPECT_THAT(ended.err, HasSubstr(path(name)));
  }
}

}  // namespace
}  // namespace holdfast::test
