// SPDX-License-Identifier: Apache-2.0
// The files of the configuration and the command: which are read, which are refused, and what comes of it.
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Configured : public Home {
 protected:
  Configured() {
    std::filesystem::create_directories(path(".config/holdfast"));
    environment_["HOLDFAST"] = HOLDFAST_BINARY;
  }
  std::string file() const { return path(".config/holdfast/config.toml"); }
  void write(const std::string& text, mode_t mode = 0644) const {
    std::ofstream(file()) << text;
    ASSERT_EQ(::chmod(file().c_str(), mode), 0);
  }
  std::string database(const std::string& name) const { return "sqlite:" + path(name); }
  void write_machines(const std::string& text) const {
    std::filesystem::create_directories(path("etc/holdfast"));
    std::ofstream(path("etc/holdfast/config.toml")) << text;
  }
  // With a folder of ours for /etc.
  Ended on_machine(const Words& words) const {
    Words command{
        "unshare",
        "-m",
        "sh",
        "-c",
        "cp /etc/ld.so.cache /etc/passwd etc/; mount --bind etc /etc || exit 99; exec \"$HOLDFAST\" \"$@\"",
        "sh"};
    command.insert(command.end(), words.begin(), words.end());
    Process process(plan(command));
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }
  static void expect_refused(const Ended& ended, const std::string& file, const char* why) {
    EXPECT_EQ(ended.code, 77) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("holdfast: "), HasSubstr(file), HasSubstr(why)));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
  json config_of(const Words& words, const std::string& name) const {
    Words all{"--json", "config"};
    all.insert(all.end(), words.begin(), words.end());
    std::istringstream lines(holdfast(all).out);
    for (std::string line; std::getline(lines, line);) {
      json row = json::parse(line);
      if (row["name"] == name) return row;
    }
    return {};
  }
};

TEST_F(Configured, the_store_is_the_option_s_then_the_environment_s_then_the_file_s) {
  write("store = 'mine'\n[stores]\nmine = '" + database("file.db") + "'\nother = '" + database("other.db") +
        "'\n");
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("file.db"));
  EXPECT_FALSE(exists(".local/state/holdfast/leases.db"));
  environment_["HOLDFAST_STORE"] = "other";
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("other.db"));
  EXPECT_EQ(holdfast({"--store", database("option.db"), "run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("option.db"));
  EXPECT_EQ(holdfast({"--store", "mine", "run", "k", "--", "sh", "-c", "echo $HOLDFAST_STORE"}).out,
            database("file.db") + "\n");
}

TEST_F(Configured, XDG_CONFIG_HOME_is_honoured_unless_it_is_relative) {
  std::filesystem::create_directories(path("xdg/holdfast"));
  std::ofstream(path("xdg/holdfast/config.toml")) << "store = '" << database("xdg.db") << "'\n";
  write("store = '" + database("home.db") + "'\n");
  environment_["XDG_CONFIG_HOME"] = path("xdg");
  EXPECT_EQ(config_of({}, "store")["value"], database("xdg.db"));
  environment_["XDG_CONFIG_HOME"] = "xdg";
  EXPECT_EQ(config_of({}, "store")["value"], database("home.db"));
}

TEST_F(Configured, the_machine_s_file_says_what_the_user_s_does_not) {
  write_machines("store = 'db'\n[stores]\ndb = '" + database("machine.db") +
                 "'\n[defaults]\nttl = '1m'\n[keys.k]\nnote = 'of the machine'\nttl = '2m'\n");
  if (on_machine({"version"}).code != 0) GTEST_SKIP() << "the system does not let us mount";
  const Ended alone = on_machine({"config", "k"});
  EXPECT_THAT(alone.out, HasSubstr("/etc/holdfast/config.toml:3 (db, by /etc/holdfast/config.toml:1)"));
  EXPECT_THAT(alone.out, HasSubstr("2m "));
  EXPECT_EQ(on_machine({"run", "k", "true"}).code, 0);
  EXPECT_TRUE(exists("machine.db"));
  write("[stores]\ndb = '" + database("user.db") + "'\n[defaults]\nttl = '3m'\n");
  const Ended both = on_machine({"config", "k"});
  EXPECT_THAT(both.out, HasSubstr(database("user.db")));
  EXPECT_THAT(both.out, HasSubstr("3m "));
  EXPECT_THAT(both.out, HasSubstr("of the machine"));
}

TEST_F(Configured, a_machine_that_requires_a_store_does_not_fall_back_to_a_file_of_the_user_s) {
  write_machines("require-store = true\n");
  if (on_machine({"version"}).code != 0) GTEST_SKIP() << "the system does not let us mount";
  for (const Words& words :
       {Words{"run", "k", "touch", path("ran")}, Words{"run", "--tick", "1d", "k", "touch", path("ran")},
        Words{"acquire", "k"}, Words{"ls"}, Words{"wait", "k"}, Words{"doctor"}, Words{"init"},
        Words{"jobs", "enqueue", "X"}, Words{"config"}}) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const Ended ended = on_machine(words);
    EXPECT_EQ(ended.code, 64) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("holdfast: no store was given, and /etc/holdfast/config.toml:1 "
                                            "requires one; "),
                                 HasSubstr("HOLDFAST_STORE")));
  }
  EXPECT_FALSE(exists("ran"));
  EXPECT_FALSE(exists(".local/state/holdfast"));
  EXPECT_THAT(on_machine({"config"}).out, HasSubstr("require-store"));
  EXPECT_EQ(on_machine({"--store", database("option.db"), "run", "k", "true"}).code, 0);
  write("store = '" + database("file.db") + "'\n");
  EXPECT_EQ(on_machine({"run", "k", "true"}).code, 0);
  environment_["HOLDFAST_STORE"] = database("environment.db");
  EXPECT_EQ(on_machine({"run", "k", "true"}).code, 0);
}

TEST_F(Configured, a_name_that_no_file_knows_is_64_and_the_known_are_told) {
  const Ended none = holdfast({"--store", "prod", "ls"});
  EXPECT_EQ(none.code, 64);
  EXPECT_THAT(none.err, HasSubstr("--store \"prod\" is neither"));
  EXPECT_THAT(none.err, HasSubstr("names no stores"));
  write("[stores]\nb = 'redis://b'\na = 'redis://a'\n");
  environment_["HOLDFAST_STORE"] = "prod";
  const Ended some = holdfast({"ls"});
  EXPECT_EQ(some.code, 64);
  EXPECT_THAT(some.err, HasSubstr("HOLDFAST_STORE \"prod\""));
  EXPECT_THAT(some.err, HasSubstr("the configuration names a, b\n"));
  write("[stores]\nproduction = 'redis://b'\n");
  EXPECT_THAT(holdfast({"--store", "prodcution", "ls"}).err, HasSubstr("did you mean production?"));
}

TEST_F(Configured, config_shows_all_the_rest_of_what_names_no_store) {
  write("store = 'nope'\n[defaults]\nttl = '1m'\n");
  for (const Words& words : {Words{"config"}, Words{"config", "k"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.out, HasSubstr("\"nope\" is neither the URL of a store"));
    EXPECT_THAT(ended.out, HasSubstr("1m "));
  }
  EXPECT_EQ(config_of({}, "store")["from"], file() + ":1");
  EXPECT_EQ(holdfast({"--store", "typo", "config"}).code, 64);
  EXPECT_THAT(holdfast({"--store", "typo", "config"}).out, HasSubstr("defaults.ttl"));
  EXPECT_EQ(holdfast({"ls"}).code, 64);
}

TEST_F(Configured, whoever_took_too_long_is_told_where_that_was_said) {
  write("[defaults]\nat-most = '300ms'\n");
  const Ended by_file = holdfast({"run", "k", "--", "sleep", "1000"});
  EXPECT_EQ(by_file.code, 124);
  EXPECT_THAT(by_file.err,
              HasSubstr("took longer than at-most 300ms (set in " + file() + ":2); it was stopped"));
  const Ended by_option = holdfast({"run", "--at-most", "200ms", "k", "--", "sleep", "1000"});
  EXPECT_THAT(by_option.err, HasSubstr("took longer than --at-most 200ms; it was stopped"));
}

// A mistake of one command is none of another's.
TEST_F(Configured, a_kill_after_that_fits_no_lease_ends_only_the_run_that_meets_it) {
  write("[defaults]\nttl = '5m'\nkill-after = '1m'\n");
  EXPECT_EQ(holdfast({"ls"}).code, 0);
  EXPECT_EQ(holdfast({"run", "k", "true"}).code, 0);
  const Ended ended = holdfast({"run", "--ttl", "30s", "k", "true"});
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.err, HasSubstr("kill-after is set in " + file() + ":3"));
}

// The inner one must not take another store, in which the key would be free.
TEST_F(Configured, a_holdfast_inside_finds_the_same_store_however_it_was_named) {
  const std::string secret = database("a password=hunter2");
  const Words nested{"run", "k", "--", "sh", "-c", "echo $HOLDFAST_STORE; exec $HOLDFAST run -n k true"};
  write("store = 'p'\n[stores]\np = '" + secret + "'\n", 0600);
  const Ended by_file = holdfast(nested);
  EXPECT_EQ(by_file.code, 75) << by_file.err;
  EXPECT_EQ(by_file.out, "p\n");
  write("[stores]\np = '" + secret + "'\n", 0600);
  Words by_option = nested;
  by_option.insert(by_option.begin(), {"--store", "p"});
  EXPECT_EQ(holdfast(by_option).out, "p\n");
  EXPECT_EQ(holdfast(by_option).code, 75);
  write("store = '" + secret + "'\n", 0600);
  EXPECT_EQ(holdfast(nested).out, "\n") << "the file says it again";
  EXPECT_EQ(holdfast(nested).code, 75);
  write("store = 'p'\n[stores]\np = '" + database("plain.db") + "'\n");
  EXPECT_EQ(holdfast(nested).out, database("plain.db") + "\n");
  EXPECT_EQ(holdfast(nested).code, 75);
}

TEST_F(Configured, options_of_a_key_are_used_and_the_command_line_comes_first) {
  write("[keys.'nightly/']\nnonblock = true\nconflict-exit-code = 9\nnote = 'from the file'\n");
  const Process owner = hold("nightly/x");
  EXPECT_THAT(holdfast({"show", "nightly/x"}).out, HasSubstr("from the file"));
  EXPECT_EQ(holdfast({"run", "nightly/x", "true"}).code, 9);
  EXPECT_EQ(holdfast({"run", "-E", "8", "nightly/x", "true"}).code, 8);
  EXPECT_EQ(holdfast({"acquire", "nightly/x"}).code, 75);
}

TEST_F(Configured, a_mistake_is_64_but_help_and_version_do_not_mind) {
  write("[defaults]\nttl = '5'\n");
  for (const Words& words :
       {Words{"ls"}, Words{"run", "k", "true"}, Words{"acquire", "k"}, Words{"config"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, StartsWith("holdfast: " + file() + ":2: ttl: \"5\" is not a duration"));
  }
  for (const Words& words :
       {Words{"help"}, Words{"help", "run"}, Words{"run", "--help"}, Words{"version"}, Words{"--version"}})
    EXPECT_EQ(holdfast(words).code, 0);
}

TEST_F(Configured, a_file_that_others_may_write_is_refused) {
  for (const mode_t mode : {0664u, 0646u, 0666u, 0620u}) {
    write("[defaults]\nttl = '1m'\n", mode);
    expect_refused(holdfast({"ls"}), file(), "chmod go-w");
  }
  for (const mode_t mode : {0644u, 0600u, 0444u, 0400u}) {
    write("[defaults]\nttl = '1m'\n", mode);
    EXPECT_EQ(holdfast({"ls"}).code, 0) << std::oct << mode;
  }
}

TEST_F(Configured, a_file_with_a_password_is_refused_if_others_may_read_it) {
  for (const std::string text :
       {"store = 'redis://:hunter2@127.0.0.1:1'\n", "[stores]\nx = 'redis://h?password=hunter2'\n",
        "[stores]\nx = { url = 'redis://h', password = 'hunter2' }\n"}) {
    for (const mode_t mode : {0644u, 0640u, 0604u}) {
      write(text, mode);
      const Ended ended = holdfast({"--store", "sqlite:x.db", "ls"});
      expect_refused(ended, file(), "chmod 600");
      EXPECT_THAT(ended.err, Not(HasSubstr("hunter2")));
    }
    write(text, 0600);
    EXPECT_EQ(holdfast({"--store", "sqlite:x.db", "ls"}).code, 0);
  }
}

TEST_F(Configured, a_password_file_is_refused_if_others_may_read_it_and_only_when_it_is_used) {
  write("[stores]\nx = { url = 'redis://127.0.0.1:1', password-file = '" + path("secret") + "' }\n");
  expect_refused(holdfast({"--store", "x", "ls"}), path("secret"), "No such file");
  std::ofstream(path("secret")) << "hunter2-canary\n";
  ::chmod(path("secret").c_str(), 0640);
  expect_refused(holdfast({"--store", "x", "ls"}), path("secret"), "chmod 600");
  EXPECT_EQ(holdfast({"ls"}).code, 0);
  EXPECT_EQ(holdfast({"config"}).code, 0);
  ::chmod(path("secret").c_str(), 0600);
  EXPECT_EQ(holdfast({"--store", "x", "ls"}).code, 69) << "there is no server";
  std::ofstream(path("secret")) << "\n";
  expect_refused(holdfast({"--store", "x", "ls"}), path("secret"), "empty");
}

TEST_F(Configured, a_file_with_a_url_that_others_could_have_written_is_not_followed) {
  std::ofstream(path("url")) << "sqlite:" << path("theirs.db") << "\n";
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    ::chmod(path("url").c_str(), mode);
    const Ended ended = holdfast({"--store", "@" + path("url"), "run", "k", "true"});
    EXPECT_EQ(ended.code, 77) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(path("url") + ": others may write it"));
  }
  EXPECT_FALSE(exists("theirs.db"));
  ::chmod(path("url").c_str(), 0644);
  EXPECT_EQ(holdfast({"--store", "@" + path("url"), "run", "k", "true"}).code, 0);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path("url").c_str(), 65534, 65534), 0);
  EXPECT_THAT(holdfast({"--store", "@" + path("url"), "ls"}).err, HasSubstr("it belongs to another user"));
}

TEST_F(Configured, a_file_of_somebody_else_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write("[stores]\nx = { url = 'redis://127.0.0.1:1', password-file = '" + path("secret") + "' }\n");
  std::ofstream(path("secret")) << "hunter2-canary\n";
  ::chmod(path("secret").c_str(), 0600);
  ASSERT_EQ(::chown(path("secret").c_str(), 65534, 65534), 0);
  expect_refused(holdfast({"--store", "x", "ls"}), path("secret"), "another user");
  ASSERT_EQ(::chown(file().c_str(), 65534, 65534), 0);
  expect_refused(holdfast({"ls"}), file(), "another user");
}

TEST_F(Configured, what_is_no_regular_file_is_refused_at_once) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expect_refused(holdfast({"ls"}), file(), "not a regular file");
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  expect_refused(holdfast({"ls"}), file(), "not a regular file");
  std::filesystem::remove(file());
  std::ofstream(file()) << std::string((1 << 20) + 1, '#');
  expect_refused(holdfast({"ls"}), file(), "1 MiB");
  std::filesystem::remove(file());
  std::ofstream(path("elsewhere.toml")) << "store = '" << database("linked.db") << "'\n";
  std::filesystem::create_symlink(path("elsewhere.toml"), file());
  EXPECT_EQ(config_of({}, "store")["value"], database("linked.db"));
  // To go on without it would be another store.
  std::filesystem::remove(path("elsewhere.toml"));
  expect_refused(holdfast({"config"}), file(), "is broken");
  expect_refused(holdfast({"run", "k", "true"}), file(), "fix or remove the link");
  std::filesystem::remove_all(path(".config"));
  std::filesystem::create_symlink(path("not-mounted"), path(".config"));
  expect_refused(holdfast({"config"}), file(), "is broken");
  std::filesystem::create_directory(path("not-mounted"));
  EXPECT_EQ(holdfast({"config"}).code, 0) << "a folder without the file";
}

TEST_F(Configured, config_tells_every_value_and_where_it_stands) {
  const Ended nothing = holdfast({"config"});
  EXPECT_EQ(nothing.code, 0);
  EXPECT_THAT(nothing.out, HasSubstr(file()));
  EXPECT_THAT(nothing.out, HasSubstr("not there\n"));
  EXPECT_THAT(nothing.out, HasSubstr("/etc/holdfast/config.toml"));
  write("[stores]\nx = { url = 'redis://me@h', password = 'hunter2-canary' }\n[keys.'a\"b']\nttl = '1m'\n",
        0600);
  EXPECT_EQ(config_of({}, "file"), (json{{"name", "file"}, {"value", file()}, {"from", "read"}}));
  EXPECT_EQ(config_of({}, "stores.x"),
            (json{{"name", "stores.x"}, {"value", "redis://me:***@h"}, {"from", file() + ":2"}}));
  EXPECT_EQ(config_of({}, "keys.\"a\\\"b\".ttl")["from"], file() + ":4");
  environment_["HOLDFAST_STORE"] = "postgres://me:hunter2-canary@h/d";
  EXPECT_EQ(config_of({}, "store"),
            (json{{"name", "store"}, {"value", "postgres://me:***@h/d"}, {"from", "HOLDFAST_STORE"}}));
}

TEST_F(Configured, config_of_a_key_tells_what_run_would_use) {
  write("[defaults]\nttl = '1m'\nnonblock = true\n[keys.n]\nwait = '1h'\n[keys.never]\nnonblock = false\n");
  const auto value = [&](const char* key, const char* name) { return config_of({key}, name)["value"]; };
  const auto from = [&](const char* key, const char* name) { return config_of({key}, name)["from"]; };
  EXPECT_EQ(value("x", "ttl"), "1m");
  EXPECT_EQ(from("x", "ttl"), file() + ":2");
  EXPECT_EQ(value("x", "nonblock"), "true");
  EXPECT_TRUE(value("x", "wait").is_null());
  EXPECT_EQ(value("n", "wait"), "1h");
  EXPECT_TRUE(value("n", "nonblock").is_null());
  EXPECT_EQ(value("never", "wait"), "forever");
  EXPECT_EQ(from("never", "wait"), file() + ":7");
  EXPECT_EQ(from("x", "at-most"), "default");
  EXPECT_EQ(from("x", "store"), "default");
}

}  // namespace
}  // namespace holdfast::test
