// SPDX-License-Identifier: Apache-2.0
// `holdfast doctor` on every store, from outside.
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/home.h"
#include "tests/support/own_servers.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// The output of `doctor --json`.
struct DoctorOutput {
  std::vector<json> findings;
  json whole;

  explicit DoctorOutput(const std::string& out) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) findings.push_back(json::parse(line));
    if (findings.empty()) return;
    whole = findings.back();
    findings.pop_back();
  }
  // "warning"; empty: nothing was found about it.
  std::string weight_of(const std::string& topic) const {
    for (const json& finding : findings) {
      if (finding["topic"] == topic) return finding["severity"];
    }
    return "";
  }
  std::string what_of(const std::string& topic) const {
    for (const json& finding : findings) {
      if (finding["topic"] == topic) return finding["what"];
    }
    return "";
  }
};

class DoctorOn : public HomeOn {
 protected:
  DoctorOn() { EXPECT_EQ(holdfast({"run", "used", "true"}).code, 0); }
};
using DoctorHere = Home;

class DoctorOnServers : public ::testing::TestWithParam<ServerKind>, protected Household {
 protected:
  DoctorOnServers() { environment_["HOLDFAST_STORE"] = server_->url(); }
  const std::unique_ptr<OwnServer> server_ = GetParam().make();
};
class DoctorOnStrictServers : public DoctorOnServers {};
// Whose settings are easily changed.
class DoctorOnRedis : public DoctorOnServers {};
std::vector<ServerKind> redis_kinds() {
  std::vector<ServerKind> all = server_kinds();
  std::erase_if(all, [](const ServerKind& kind) { return kind.name != "redis"; });
  return all;
}

TEST_P(DoctorOn, a_store_that_works_passes_the_self_test_and_has_the_class_of_its_findings) {
  const Ended ended = holdfast({"doctor", "--json"});
  const DoctorOutput output(ended.out);
  ASSERT_TRUE(output.whole.is_object()) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_GT(output.whole["grants"], 0) << ended.out;
  EXPECT_EQ(output.whole["threads"], 8);
  EXPECT_EQ(output.whole["overlaps"], 0);
  EXPECT_THAT(output.weight_of("all.self-test"), AnyOf("", "warning")) << ended.out;
  EXPECT_EQ(output.weight_of("all.refused"), "");
  EXPECT_EQ(output.weight_of("all.no-tables"), "");
  EXPECT_GT(output.whole["round_trip_median_us"], 0);
  const json& drift = output.whole["clock_drift_ppm"];
  EXPECT_TRUE(drift.is_number() || drift.is_null()) << "a busy machine may not let us tell";
  // The store uses the clock of this machine, but its replies may be slow.
  EXPECT_LT(std::abs(output.whole["clock_offset_us"].get<std::int64_t>()), 10'000'000) << ended.out;

  const bool danger = output.whole["dangers"] > 0, warning = output.whole["warnings"] > 0;
  EXPECT_EQ(ended.code, danger ? 77 : warning ? 1 : 0);
  EXPECT_EQ(output.whole["exit"], ended.code);
  EXPECT_THAT(output.whole["grade"].get<std::string>(), danger    ? AnyOf("D", "D")
                                                        : warning ? AnyOf("C", "D")
                                                                  : AnyOf("A", "B"));
  EXPECT_NE(output.whole["server"].get<std::string>(), "");
}

// All of it is this machine's: nothing refuses us, and every clock runs as ours does.
TEST_P(DoctorOn, a_store_that_works_gives_no_false_alarm) {
  for (const Words& words : {Words{"doctor", "--quick", "--json"}, Words{"doctor", "--json"}}) {
    const Ended ended = holdfast(words);
    const DoctorOutput output(ended.out);
    ASSERT_TRUE(output.whole.is_object()) << ended.err;
    for (const char* const topic : {"all.refused", "all.unmeasured", "all.no-tables", "all.clock-drift"})
      EXPECT_EQ(output.weight_of(topic), "") << ended.out;
  }
}

// Some stores report their time only for a lease that exists, and --quick acquires none.
TEST_P(DoctorOn, each_finding_says_what_to_change) {
  for (const json& finding : DoctorOutput(holdfast({"doctor", "--quick", "--json"}).out).findings)
    EXPECT_NE(finding["advice"], "") << finding;
}

TEST_P(DoctorOn, the_statements_are_shown_with_the_names_of_their_tables) {
  const Ended ended = holdfast({"doctor", "--show-sql"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, AllOf(HasSubstr("acquire"), HasSubstr("token")));
  EXPECT_THAT(ended.out, AllOf(Not(HasSubstr("{locks}")), Not(HasSubstr("{jobs}"))));
  const json object = json::parse(holdfast({"doctor", "--show-sql", "--json"}).out);
  EXPECT_TRUE(ended.out.starts_with(std::string(object["statements"])));
}

TEST_F(DoctorHere, statements_are_shown_without_a_server) {
  const Ended ended =
      holdfast({"--store", "postgres://ann@127.0.0.1:1/app?table=cron", "doctor", "--show-sql"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\"cron\""));
}

TEST_P(DoctorOn, the_ttl_that_was_given_is_reported) {
  EXPECT_THAT(holdfast({"doctor", "--quick", "--ttl", "1h"}).out,
              HasSubstr(": fast enough for a ttl of 1h ("));
  EXPECT_THAT(holdfast({"doctor", "--quick", "--ttl", "never"}).out, HasSubstr(": a lease without an end "));
}

TEST_P(DoctorOn, a_clock_that_was_not_measured_is_reported_as_such) {
  EXPECT_THAT(holdfast({"doctor", "--quick"}).out, HasSubstr("\nclock drift   "));
}

TEST_P(DoctorOn, people_read_the_class_first_and_the_verdict_last) {
  const Ended ended = holdfast({"doctor", "--quick"});
  EXPECT_THAT(ended.code, AnyOf(0, 1, 77));
  const std::string first = ended.out.substr(0, ended.out.find('\n'));
  EXPECT_THAT(first, MatchesRegex(".+: class [A-D], (consensus|durable|best effort|unsafe).*"));
  EXPECT_THAT(ended.out, HasSubstr("\nround trip    median "));
  EXPECT_THAT(ended.out, Not(HasSubstr("self-test     "))) << "it is quick";
  EXPECT_THAT(ended.out, MatchesRegex("(.|\n)*\n\n(all is well|[1-9][0-9]* (warning|danger).*)\n"));
}

TEST_P(DoctorOn, quick_takes_no_key_and_the_self_test_leaves_none_held) {
  EXPECT_THAT(holdfast({"doctor", "--quick"}).code, AnyOf(0, 1, 77));
  EXPECT_EQ(json::parse(holdfast({"show", "holdfast/doctor", "--json"}).out)["token"], json());
  EXPECT_THAT(holdfast({"doctor"}).code, AnyOf(0, 1, 77));
  EXPECT_NE(json::parse(holdfast({"show", "holdfast/doctor", "--json"}).out)["token"], json());
  EXPECT_EQ(holdfast({"ls", "--json"}).out, "") << "nothing is held";
}

TEST_P(DoctorOn, two_doctors_do_not_meet) {
  const Process owner = hold("holdfast/doctor", {"--note", "holdfast doctor"});
  const Ended ended = holdfast({"doctor", "--json"});
  const DoctorOutput output(ended.out);
  EXPECT_EQ(output.weight_of("all.self-test"), "warning") << ended.out;
  EXPECT_THAT(output.what_of("all.self-test"), HasSubstr("another doctor is running, "));
  EXPECT_TRUE(output.whole["grants"].is_null());
}

TEST_P(DoctorOn, who_holds_the_key_of_doctors_and_is_none_is_named) {
  const Process owner = hold("holdfast/doctor", {"--owner", "somebody"});
  const Ended ended = holdfast({"doctor", "--json"});
  const DoctorOutput output(ended.out);
  EXPECT_EQ(output.weight_of("all.self-test"), "warning") << ended.out;
  EXPECT_THAT(output.what_of("all.self-test"), HasSubstr("somebody holds holdfast/doctor"));
}

TEST_P(DoctorOn, a_doctor_waits_for_another_that_is_nearly_through) {
  Process owner = hold("holdfast/doctor", {"--note", "holdfast doctor"}, "exec sleep 1");
  const Ended ended = holdfast({"doctor", "--json"});
  EXPECT_GT(DoctorOutput(ended.out).whole["grants"], 0) << ended.out;
}

TEST_P(DoctorOn, a_ttl_that_is_too_short_for_the_way_is_a_warning) {
  const Ended ended = holdfast({"doctor", "--quick", "--json", "--ttl", "100ms"});
  EXPECT_EQ(DoctorOutput(ended.out).weight_of("all.round-trip"), "warning") << ended.out;
  EXPECT_THAT(ended.code, AnyOf(1, 77));
  EXPECT_EQ(holdfast({"doctor", "--quick", "--ttl", "100ms", "--strict"}).code, 77);
}

TEST_P(DoctorOnServers, that_are_dead_are_69_and_one_sentence) {
  server_->kill();
  const Ended ended = holdfast({"doctor"});
  EXPECT_EQ(ended.code, 69) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("holdfast: "));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr(OwnServer::password)));
}

TEST_P(DoctorOnServers, that_nobody_has_used_are_examined_and_not_changed) {
  const Words plan{"init", "--dry-run"};
  const std::string before = holdfast(plan).out;
  const bool needs_tables = before.find("CREATE TABLE") != std::string::npos;
  const Ended ended = holdfast({"doctor", "--json"});
  EXPECT_THAT(ended.code, AnyOf(0, 1, 77)) << ended.err;
  const DoctorOutput output(ended.out);
  EXPECT_EQ(output.weight_of("all.no-tables"), needs_tables ? "note" : "") << ended.out;
  EXPECT_EQ(output.whole["grants"].is_null(), needs_tables);
  // Where the first acquire creates what it needs, that of the self-test has done so.
  const std::string after = holdfast(plan).out;
  EXPECT_TRUE(needs_tables ? after == before : before.ends_with(after)) << before << after;
  EXPECT_EQ(after.empty(), before.empty()) << "nothing for jobs was created";
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(OwnServer::password)));
}

// A refusal of Redis is reported with all other findings.
TEST_P(DoctorOnRedis, that_answers_and_grants_nothing_is_77_with_what_was_found) {
  const std::string url = "redis://default:" + server_->url().substr(std::string("redis://:").size());
  const auto set = [&](const char* name, const char* value) {
    Process cli(plan({"redis-cli", "-e", "-u", url, "CONFIG", "SET", name, value}));
    ASSERT_EQ(cli.wait(), 0) << cli.err();
  };
  const auto expect_nothing = [&](const Words& words, const char* why) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 77) << ended.out << ended.err;
    EXPECT_EQ(ended.err, "");
    EXPECT_EQ(DoctorOutput(ended.out).weight_of("all.unmeasured"), "danger") << ended.out;
    EXPECT_THAT(DoctorOutput(ended.out).what_of("all.unmeasured"), HasSubstr(why));
  };
  set("min-replicas-to-write", "1");
  expect_nothing({"doctor", "--json"}, "NOREPLICAS");
  EXPECT_THAT(holdfast({"doctor"}).out, EndsWith(": no lease is granted until this is fixed\n"));
  set("min-replicas-to-write", "0");
  set("maxmemory", "1");
  expect_nothing({"doctor", "--json"}, "OOM");
}

TEST_P(DoctorOnStrictServers, that_do_not_know_our_password_are_77) {
  environment_["HOLDFAST_STORE"] = server_->url("swordfish-canary");
  const Ended ended = holdfast({"doctor"});
  EXPECT_EQ(ended.code, 77) << ended.out << ended.err;
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("swordfish-canary")));
}

TEST_F(DoctorHere, a_file_that_is_not_there_is_judged_by_its_place_and_not_made) {
  const Ended ended = holdfast({"--store", "sqlite:" + path("new/leases.db"), "doctor", "--json"});
  EXPECT_THAT(ended.code, AnyOf(0, 1)) << ended.out;
  const DoctorOutput output(ended.out);
  EXPECT_EQ(output.weight_of("all.no-tables"), "note");
  EXPECT_EQ(output.weight_of("sqlite.power-loss"), "note");
  EXPECT_TRUE(is_empty());
}

TEST_F(DoctorHere, a_store_that_nobody_named_is_noted) {
  EXPECT_EQ(DoctorOutput(holdfast({"doctor", "--quick", "--json"}).out).weight_of("all.implicit-store"),
            "note");
  environment_["HOLDFAST_STORE"] = "sqlite:" + path(".local/state/holdfast/leases.db");
  EXPECT_EQ(DoctorOutput(holdfast({"doctor", "--quick", "--json"}).out).weight_of("all.implicit-store"), "");
}

TEST_F(DoctorHere, a_place_that_is_refused_is_77_with_the_reason_and_what_to_change) {
  std::filesystem::create_directory(path("open"));
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);
  environment_["HOLDFAST_STORE"] = "sqlite:" + path("open") + "/leases.db";
  const Ended unused = holdfast({"doctor"});
  EXPECT_EQ(unused.code, 77);
  EXPECT_THAT(unused.out, HasSubstr("class D, unsafe: " + path("open") + " is not safe for leases\n"));
  EXPECT_THAT(unused.out, HasSubstr("→ chmod o-w " + path("open")));
  // With a warning besides where the tests write into memory.
  EXPECT_THAT(unused.out, AnyOf(EndsWith("\n1 danger: do not rely on leases here\n"),
                                EndsWith("\n1 danger, 1 warning: do not rely on leases here\n")));

  ASSERT_EQ(::chmod(path("open").c_str(), 0700), 0);
  ASSERT_EQ(holdfast({"run", "k", "true"}).code, 0);
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);
  const Ended used = holdfast({"doctor", "--json"});
  EXPECT_EQ(used.code, 77);
  EXPECT_EQ(DoctorOutput(used.out).weight_of("sqlite.open-folder"), "danger");
  EXPECT_EQ(DoctorOutput(used.out).weight_of("all.refused"), "note") << "why there are no numbers";
  EXPECT_TRUE(DoctorOutput(used.out).whole["round_trip_p99_us"].is_null());

  const std::string store = environment_["HOLDFAST_STORE"];
  environment_["HOLDFAST_STORE"] = store + "?accept=sqlite.open-folder";
  EXPECT_THAT(holdfast({"doctor", "--quick"}).out, HasSubstr("danger   sqlite.open-folder (accepted)  "));

  environment_["HOLDFAST_STORE"] = store + "?unsafe=allow";
  const Ended daring = holdfast({"doctor", "--json"});
  EXPECT_EQ(daring.code, 77) << "unsafe=allow does not hide the danger";
  EXPECT_EQ(DoctorOutput(daring.out).weight_of("all.refused"), "");
  EXPECT_GT(DoctorOutput(daring.out).whole["grants"], 0);
}

TEST_F(DoctorHere, a_full_disk_is_reported_with_all_that_was_found) {
  std::filesystem::create_directory(path("disk"));
  if (Process(plan({"unshare", "-m", "mount", "-t", "tmpfs", "none", path("disk")})).wait() != 0)
    GTEST_SKIP() << "the system does not let us mount";
  environment_["HOLDFAST_STORE"] = "sqlite:" + path("disk/leases.db");
  environment_["HOLDFAST"] = HOLDFAST_BINARY;
  const std::string script = R"sh(
      mount -t tmpfs -o size=400k,mode=700 none disk || exit 2
      "$HOLDFAST" run used true || exit 3
      cat /dev/zero > disk/filler 2>/dev/null
      exec "$HOLDFAST" doctor --json
  )sh";
  Process process(plan({"unshare", "-m", "sh", "-c", script}));
  EXPECT_EQ(process.wait(), 77) << process.out() << process.err();
  const DoctorOutput output(process.out());
  EXPECT_EQ(output.weight_of("sqlite.room"), "danger") << process.out();
  EXPECT_EQ(output.weight_of("all.unmeasured"), "danger") << process.out();
}

TEST_F(DoctorHere, another_time_namespace_is_a_danger_for_real) {
  holdfast({"acquire", "k"});
  Process there(plan({"unshare", "--time", "--fork", HOLDFAST_BINARY, "doctor", "--quick", "--json"}));
  const int code = there.wait();
  if (there.out().empty() && there.err().find("unshare: ") != std::string::npos) {
    // Not every kernel has them; DiagnosisOfSqlite plays one.
    std::printf("no time namespace here: %s", there.err().c_str());
    return;
  }
  EXPECT_EQ(code, 77) << there.err();
  EXPECT_EQ(DoctorOutput(there.out()).weight_of("sqlite.time-namespace"), "danger") << there.out();
  EXPECT_EQ(DoctorOutput(holdfast({"doctor", "--quick", "--json"}).out).weight_of("sqlite.time-namespace"),
            "");
}

TEST_F(DoctorHere, what_is_not_a_store_is_64) {
  EXPECT_EQ(holdfast({"--store", "gopher://x", "doctor"}).code, 64);
  EXPECT_EQ(holdfast({"--store", "sqlite:x.db?tabel=y", "doctor"}).code, 64);
  EXPECT_EQ(holdfast({"doctor", "--slow"}).code, 64);
  EXPECT_EQ(holdfast({"doctor", "--ttl", "5"}).code, 64);
  EXPECT_TRUE(is_empty());
}

// A server where a table of jobs lacks a column; leases have tables of their own.
class DamagedJobs : public DoctorOn {
 protected:
  DamagedJobs() {
    const std::string url = database_->url();
    if (GetParam().name == "postgres") {
      const std::string table = url.substr(url.find("?table=") + 7);
      const std::string schema = table.substr(0, table.find('.'));
      shared_postgres().execute("ALTER TABLE " + schema + ".holdfast_jobs DROP COLUMN trail");
    } else {
      shared_mariadb().query("ALTER TABLE " + url.substr(url.rfind('/') + 1) +
                             ".holdfast_jobs DROP COLUMN trail");
    }
  }
};

TEST_P(DamagedJobs, are_a_note_and_leases_do_without) {
  EXPECT_EQ(holdfast({"run", "-n", "k", "true"}).code, 0);
  const Ended ended = holdfast({"doctor", "--quick", "--json"});
  const DoctorOutput output(ended.out);
  EXPECT_EQ(output.weight_of("all.refused"), "") << ended.out;
  EXPECT_EQ(output.weight_of(GetParam().name + ".jobs"), "note") << ended.out;
  EXPECT_THAT(output.what_of(GetParam().name + ".jobs"),
              ::testing::ContainsRegex("its column \"trail\" .*is missing"));
  EXPECT_THAT(ended.out, ::testing::Not(HasSubstr("drop")));
  EXPECT_NE(ended.code, 77);
  const Ended ls = holdfast({"ls"});
  EXPECT_EQ(ls.code, 0) << ls.err;
  const Ended jobs = holdfast({"jobs", "ls"});
  EXPECT_EQ(jobs.code, 77);
  EXPECT_THAT(jobs.err, ::testing::ContainsRegex("its column \"trail\" .*is missing"));
}

HOLDFAST_ON_EVERY_SHARED_STORE(DoctorOn);
HOLDFAST_ON_STORES(DamagedJobs, kinds_named({"postgres", "mariadb"}));
HOLDFAST_ON_EVERY_SERVER(DoctorOnServers);
HOLDFAST_ON_EVERY_STRICT_SERVER(DoctorOnStrictServers);
HOLDFAST_ON_SERVERS(DoctorOnRedis, redis_kinds());

}  // namespace
}  // namespace holdfast::test
