// SPDX-License-Identifier: Apache-2.0
// Commands that only read: watch, ls --watch and show; on every store.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/home.h"
#include "tests/support/own_servers.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::vector<json> objects_of(const std::string& text) {
  std::vector<json> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!lines.eof()) all.push_back(json::parse(line));  // the last may not be whole
  }
  return all;
}

// All kinds that processes share, and the layout that no other suite has.
std::vector<Kind> every_layout() {
  std::vector<Kind> kinds = shared_kinds();
  for (Kind& kind : darwin_kinds()) {
    if (kind.name == "darwin") kinds.push_back(std::move(kind));
  }
  return kinds;
}

class Seeing : public HomeOn {
 protected:
  json show(const std::string& key) { return json::parse(holdfast({"show", key, "--json"}).out); }
  std::string token_of(const std::string& key) {
    return std::to_string(show(key)["token"].get<std::uint64_t>());
  }
  // Of the embedded store, which is there as soon as somebody uses it.
  void make_store() { holdfast({"run", "first", "true"}); }

  Process watch() {
    holdfast({"acquire", "already", "--owner", "me", "--ttl", "1h"});
    Process process = start({"watch", "--json", "--interval", "100ms"});
    EXPECT_TRUE(process.await_out("already")) << process.err();
    return process;
  }
  static std::vector<std::string> events_of(Process& process, const std::string& key) {
    std::vector<std::string> events;
    for (const json& object : objects_of(process.out())) {
      if (object["key"] == key) events.push_back(object["event"]);
    }
    return events;
  }
  static bool await_event(Process& process, const std::string& key, const std::string& event) {
    return await([&] {
      const auto events = events_of(process, key);
      return std::find(events.begin(), events.end(), event) != events.end();
    });
  }
  static json event(Process& process, const std::string& name) {
    for (const json& object : objects_of(process.out())) {
      if (object["event"] == name) return object;
    }
    return {};
  }
};

using SeeingLayouts = Seeing;
using SeeingHere = Home;

// ---- show

TEST_P(SeeingLayouts, show_has_holder_host_pid_since_remaining_token_note_and_queue) {
  make_store();
  const json never_held = show("k");
  EXPECT_TRUE(never_held["host"].is_null());
  EXPECT_TRUE(never_held["pid"].is_null());
  EXPECT_TRUE(never_held["held_for_ms"].is_null());
  EXPECT_TRUE(never_held.contains("ttl_ms") && never_held["ttl_ms"].is_null());
  const Process owner = hold("k", {"--ttl", "1h", "--note", "why not"});
  Process waiter = start({"run", "k", "true"});
  json shown;
  ASSERT_TRUE(await([&] {  // in one read: a waiter that is paused loses its place
    shown = show("k");
    return shown["waiting"] == 1 && shown["places"].size() == 1;
  })) << shown;
  const std::string pid = std::to_string(owner.pid());
  EXPECT_EQ(shown["pid"], owner.pid());
  EXPECT_THAT(shown["owner"],
              HasSubstr("host:" + shown["host"].get<std::string>() + " pid:" + pid + " guid:"));
  EXPECT_GT(shown["remaining_ms"], 3'000'000);
  EXPECT_EQ(shown["ttl_ms"], 3'600'000);
  EXPECT_GT(shown["since_us"], 1'700'000'000'000'000);
  EXPECT_TRUE(shown["held_for_ms"].is_number()) << shown;
  EXPECT_GT(shown["token"], 0);
  EXPECT_EQ(shown["note"], "why not");
  EXPECT_FALSE(shown["detached"]);
  EXPECT_THAT(shown["places"][0]["owner"], HasSubstr("pid:" + std::to_string(waiter.pid())));
  std::string text;
  ASSERT_TRUE(await([&] {
    text = holdfast({"show", "k"}).out;
    return text.find("waiting 1") != std::string::npos;
  })) << text;
  const std::vector<std::string> lines{"host       .*",
                                       "pid        " + pid,
                                       "since      .* ago",
                                       "lasts      for another .*, longer if renewed",
                                       "token      [0-9]*",
                                       "note       why not",
                                       "waiting 1  .* pid " + std::to_string(waiter.pid())};
  for (const std::string& line : lines) EXPECT_THAT(text, MatchesRegex("(.|\n)*\n" + line + "\n(.|\n)*"));
}

TEST_P(SeeingLayouts, show_has_breaks_and_take_overs) {
  make_store();
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  EXPECT_TRUE(show("k")["host"].is_null()) << "a name of somebody's own";
  ASSERT_EQ(holdfast({"break", "k", "--token", token_of("k"), "--reason", "in the way"}).code, 0);
  ASSERT_EQ(holdfast({"acquire", "k", "--owner", "ben", "--ttl", "2s"}).code, 0);
  ASSERT_TRUE(await([&] { return show("k")["remaining_ms"] == 0; }));
  ASSERT_EQ(holdfast({"acquire", "k", "--owner", "cleo", "--ttl", "1h"}).code, 0);
  const json log = show("k")["log"];
  ASSERT_EQ(log.size(), 2u) << log;
  EXPECT_EQ(log[0]["event"], "taken-over");
  EXPECT_EQ(log[0]["owner"], "ben");
  EXPECT_EQ(log[0]["by"], "cleo");
  EXPECT_EQ(log[1]["event"], "broken");
  EXPECT_EQ(log[1]["owner"], "ann");
  EXPECT_EQ(log[1]["reason"], "in the way");
}

// ---- watch

TEST_P(Seeing, watch_begins_with_the_held_keys_and_reports_events) {
  Process watching = watch();
  EXPECT_EQ(event(watching, "holds")["owner"], "me");
  Process owner = hold("k", {"--ttl", "1h", "--note", "by day"});
  ASSERT_TRUE(await_event(watching, "k", "acquired")) << watching.out() << watching.err();
  EXPECT_EQ(event(watching, "acquired")["detail"], "by day");
  {
    const Process waiter = start({"run", "k", "sleep", "1000"});
    ASSERT_TRUE(await_event(watching, "k", "waiting")) << watching.out();
    EXPECT_EQ(event(watching, "waiting")["waiting"], 1);
    owner.signal(SIGTERM);
    ASSERT_TRUE(await_event(watching, "k", "released")) << watching.out();
  }
  EXPECT_EQ(event(watching, "released")["token"], event(watching, "acquired")["token"]);
  watching.signal(SIGTERM);
  EXPECT_EQ(watching.wait(), 128 + SIGTERM);
  EXPECT_EQ(watching.err(), "");
}

TEST_P(Seeing, watch_reports_breaks_and_take_overs_once_each) {
  Process watching = watch();
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "1h"});
  holdfast({"break", "k", "--token", token_of("k"), "--reason", "in the way"});
  holdfast({"acquire", "k", "--owner", "ben", "--ttl", "2s"});
  ASSERT_TRUE(await([&] { return show("k")["remaining_ms"] == 0; }));
  holdfast({"acquire", "k", "--owner", "cleo", "--ttl", "1h"});
  ASSERT_TRUE(await_event(watching, "k", "taken-over")) << watching.out();
  holdfast({"acquire", "last", "--owner", "me"});
  ASSERT_TRUE(await_event(watching, "last", "acquired")) << watching.out();
  const auto events = events_of(watching, "k");
  EXPECT_EQ(std::count(events.begin(), events.end(), "broken"), 1) << watching.out();
  EXPECT_EQ(std::count(events.begin(), events.end(), "taken-over"), 1) << watching.out();
  EXPECT_EQ(event(watching, "broken")["detail"], "in the way");
  EXPECT_EQ(event(watching, "broken")["owner"], "ann");
  EXPECT_EQ(event(watching, "taken-over")["owner"], "ben");
  EXPECT_EQ(event(watching, "taken-over")["by"], "cleo");
}

TEST_P(Seeing, watch_reports_when_a_lease_expires) {
  Process watching = watch();
  holdfast({"acquire", "k", "--owner", "ann", "--ttl", "2s"});
  // It lives until it was seen, however slow the reads are.
  ASSERT_TRUE(await([&] {
    holdfast({"renew", "k", "--owner", "ann", "--ttl", "2s"});
    return !events_of(watching, "k").empty();
  })) << watching.out();
  ASSERT_TRUE(await_event(watching, "k", "expired")) << watching.out();
  EXPECT_THAT(events_of(watching, "k"), ElementsAre("acquired", "expired"));
}

TEST_P(Seeing, ls_watch_with_json_is_an_object_for_each_snapshot) {
  make_store();
  Process looking = start({"ls", "--watch", "--interval", "100ms", "--json"});
  const auto keys = [&] {
    const auto looks = objects_of(looking.out());
    return looks.empty() ? std::string("none") : looks.back()["leases"].dump();
  };
  ASSERT_TRUE(await([&] { return keys() == "[]"; })) << looking.err();
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  ASSERT_TRUE(await([&] { return keys().find("\"k\"") != std::string::npos; })) << looking.out();
  holdfast({"release", "k", "--owner", "me"});
  EXPECT_TRUE(await([&] { return keys() == "[]"; })) << looking.out();
}

TEST_F(SeeingHere, watch_is_for_people_a_line_each_and_has_a_prefix) {
  holdfast({"acquire", "a/1", "--owner", "me", "--ttl", "1h", "--note", "two\nlines"});
  holdfast({"acquire", "b/1", "--owner", "me"});
  Process watching = start({"watch", "a/", "--interval", "100ms"});
  ASSERT_TRUE(watching.await_out("\n")) << watching.err();
  holdfast({"run", "b/2", "true"});
  const json other = json::parse(holdfast({"show", "b/1", "--json"}).out);
  const std::string token = std::to_string(other["token"].get<std::uint64_t>());
  ASSERT_EQ(holdfast({"break", "b/1", "--token", token, "--reason", "no news here"}).code, 0);
  holdfast({"release", "a/1", "--owner", "me"});
  ASSERT_TRUE(watching.await_out("released")) << watching.out();
  EXPECT_THAT(watching.out(),
              MatchesRegex("[-0-9]+ [:0-9]+Z  holds       a/1: held by me, .* left, token [0-9]+ "
                           "\\(two\\\\x0alines\\)\n"
                           "[-0-9]+ [:0-9]+Z  released    a/1: by me, token [0-9]+\n"));
  watching.signal(SIGINT);
  EXPECT_EQ(watching.wait(), 128 + SIGINT);
}

TEST_F(SeeingHere, a_closed_pipe_ends_them_quietly_though_nothing_happens) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  for (const char* what : {"watch", "ls --watch", "watch --json --interval 1h"}) {
    Process shell(plan({"sh", "-c", std::string(HOLDFAST_BINARY) + " " + what + " | head -n 1; echo over"}));
    EXPECT_EQ(shell.wait(), 0) << what;
    EXPECT_THAT(shell.out(), MatchesRegex(".*\nover\n")) << what;
    EXPECT_EQ(shell.err(), "") << what;
  }
}

// As a stdout that is a socket: our end of it, and theirs until they have it.
class Socket {
 public:
  Socket() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw std::runtime_error("no socket");
    ours_.reset(fds[0]);
    theirs_.reset(fds[1]);
    ::fcntl(ours_.get(), F_SETFL, O_NONBLOCK);
  }
  void send_to_them() { EXPECT_EQ(::write(ours_.get(), "x", 1), 1); }
  // As systemd does with the one to its journal.
  void shut_their_reading() { EXPECT_EQ(::shutdown(theirs_.get(), SHUT_RD), 0); }
  void close_ours() { ours_.reset(); }

  Process give_to(Process::Plan plan) {
    plan.out = theirs_.get();
    Process process(plan);
    theirs_.reset();
    return process;
  }
  bool await_text(std::string_view text) {
    return await(
        [&] {
          char buffer[4096];
          for (ssize_t got = 0; (got = ::read(ours_.get(), buffer, sizeof buffer)) > 0;)
            text_.append(buffer, static_cast<std::size_t>(got));
          return text_.find(text) != std::string::npos;
        },
        long_enough);
  }

 private:
  Fd ours_, theirs_;
  std::string text_;
};

TEST_F(SeeingHere, a_socket_ends_them_when_its_other_end_is_closed_and_not_before) {
  holdfast({"acquire", "first", "--owner", "me", "--ttl", "1h"});
  const std::vector<Words> commands{{"watch", "--interval", "100ms"},
                                    {"ls", "--watch", "--interval", "100ms"}};
  for (const Words& command : commands) {
    for (const bool shut : {false, true}) {
      const std::string key = command[0] + (shut ? "-shut" : "-sent");
      Socket socket;
      shut ? socket.shut_their_reading() : socket.send_to_them();
      Process process = socket.give_to(holdfast_plan(command));
      ASSERT_TRUE(socket.await_text("first")) << key << process.err();
      holdfast({"acquire", key, "--owner", "me", "--ttl", "1h"});
      ASSERT_TRUE(socket.await_text(key)) << process.err();
      socket.close_ours();
      EXPECT_EQ(process.wait(), 0) << key;
      EXPECT_EQ(process.err(), "") << key;
    }
  }
}

TEST_F(SeeingHere, an_answer_that_nobody_reads_from_the_start_is_no_failure) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  Socket socket;
  socket.close_ours();
  Process watching = socket.give_to(holdfast_plan({"watch"}));
  EXPECT_EQ(watching.wait(), 0);
  EXPECT_EQ(watching.err(), "");
}

TEST_F(SeeingHere, watch_of_a_store_that_nobody_has_used_waits_for_the_first) {
  Process watching = start({"watch", "--json", "--interval", "100ms"});
  ASSERT_TRUE(watching.await_err("nobody has used this store yet"));
  EXPECT_TRUE(is_empty());
  holdfast({"acquire", "k", "--owner", "me"});
  // Depending on the time of the first read, it acquires the key or holds it already.
  EXPECT_TRUE(watching.await_out("\"key\":\"k\",\"owner\":\"me\"")) << watching.out() << watching.err();
}

TEST_F(SeeingHere, ls_watch_prints_the_table_again_and_again) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  Process looking = start({"ls", "--watch", "--interval", "100ms"});
  ASSERT_TRUE(looking.await_out("\n\n")) << looking.err();
  EXPECT_THAT(looking.out(),
              MatchesRegex("[-0-9]+ [:0-9]+Z  sqlite:.*  1 held, 0 waiting\nKEY .*\nk .*\n\n(.|\n)*"));
}

TEST_F(SeeingHere, ls_watch_draws_over_itself_on_a_terminal) {
  holdfast({"acquire", "k", "--owner", "me", "--ttl", "1h"});
  Process::Plan plan = holdfast_plan({"ls", "--watch", "--interval", "100ms"});
  plan.on_terminal = true;
  Process looking(plan);
  ASSERT_TRUE(looking.await_out("\033[H")) << looking.out();
  const std::size_t first = looking.out().size();
  ASSERT_TRUE(await([&] { return looking.out().find("\033[H", first) != std::string::npos; }));
  EXPECT_THAT(looking.out(), HasSubstr("1 held"));
  looking.type("\x03");
  EXPECT_EQ(looking.wait(), 128 + SIGINT);
  EXPECT_TRUE(looking.terminal_is_as_ever());
}

TEST_F(SeeingHere, ls_watch_cuts_wide_characters_before_they_wrap) {
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "東";
  holdfast({"acquire", wide, "--owner", "me", "--ttl", "1h"});
  Process::Plan plan = holdfast_plan({"ls", "--watch", "--interval", "1h"});
  plan.on_terminal = true;
  Process looking(plan);
  ASSERT_TRUE(looking.await_out("\033[J")) << looking.out();
  // Of 120 columns the others have 69, and the last one stays empty.
  const std::string cut = wide.substr(0, 24 * std::string_view("東").size()) + "~";
  EXPECT_THAT(looking.out(), HasSubstr("\n" + cut + "  me (detached)  ")) << "and the rest is to be seen";
}

TEST_F(SeeingHere, ls_on_a_terminal_fits_it_and_is_whole_elsewhere) {
  const std::string key(300, 'k'), note(90, 'n');
  holdfast({"acquire", key, "--owner", "me", "--ttl", "1h", "--note", note});
  holdfast({"acquire", "short", "--owner", "olga", "--ttl", "1h"});
  Process::Plan plan = holdfast_plan({"ls"});
  plan.on_terminal = true;
  plan.environment["NO_COLOR"] = "1";
  Process looking(plan);
  ASSERT_EQ(looking.wait(), 0) << looking.out();
  std::istringstream lines(looking.out());
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line.substr(0, line.find('\r')));
  ASSERT_EQ(rows.size(), 3u) << looking.out();
  for (const std::string& row : rows) EXPECT_LT(row.size(), 120u) << row;
  EXPECT_THAT(rows[1], MatchesRegex("k+~  me \\(detached\\) +.*s  .* -  +[0-9]+  n+~"));
  EXPECT_THAT(rows[2], MatchesRegex("short +olga \\(detached\\) .*"));
  const std::string piped = holdfast({"ls"}).out;
  EXPECT_THAT(piped, HasSubstr("\n" + key + "  me (detached)  "));
  EXPECT_THAT(piped, HasSubstr(" " + note + "\n"));
  EXPECT_THAT(holdfast({"ls", "--json"}).out, HasSubstr("\"" + key + "\""));
}

HOLDFAST_ON_EVERY_SHARED_STORE(Seeing);
HOLDFAST_ON_STORES(SeeingLayouts, every_layout());

// ---- a store that goes away

class SeeingServers : public ::testing::TestWithParam<ServerKind>, protected Household {
 protected:
  SeeingServers() { environment_["HOLDFAST_STORE"] = server_->url(); }
  const std::unique_ptr<OwnServer> server_ = GetParam().make();
};

TEST_P(SeeingServers, that_go_away_are_reported_once_and_again_when_they_are_back) {
  server_->make_tables();
  holdfast({"acquire", "before", "--owner", "me", "--ttl", "1h"});
  Process watching = start({"watch", "--json", "--interval", "100ms"});
  ASSERT_TRUE(watching.await_out("before")) << watching.err();
  server_->kill();
  ASSERT_TRUE(watching.await_err("; trying again\n"));
  server_->start();
  ASSERT_TRUE(watching.await_err(" answers again\n")) << watching.err();
  ASSERT_TRUE(await([&] { return holdfast({"acquire", "-n", "after", "--owner", "me"}).code == 0; }));
  EXPECT_TRUE(watching.await_out("after")) << watching.out() << watching.err();
  const std::string err = watching.err();
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 2) << err;
  EXPECT_THAT(err, Not(HasSubstr(OwnServer::password)));
}

HOLDFAST_ON_EVERY_SERVER(SeeingServers);

}  // namespace
}  // namespace holdfast::test
