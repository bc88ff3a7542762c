// SPDX-License-Identifier: Apache-2.0
// Doctor on servers that are set up well, and on some that are not.  Each topic is a row of the table in
// docs/stores/mariadb.md.
#include <filesystem>
#include <optional>

#include "stores/mariadb/findings.h"
#include "tests/mariadb/suite.h"
#include "tests/support/findings.h"
#include "tests/support/servers/port.h"
#include "tests/support/servers/relay.h"

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

Diagnosis diagnosis_of(const std::string& url) {
  return try_store(url).value()->admin()->diagnose(soon()).value();
}

std::vector<std::string> topics_at(const std::string& url) { return topics_of(diagnosis_of(url).findings); }

// Since MariaDB 11.6 a server has this note by default; an older server is configured to have it.
std::vector<std::string> but_for_snapshots(std::vector<std::string> topics) {
  std::erase(topics, "note mariadb.snapshot-isolation");
  return topics;
}

class Diagnosed : public MariaTest {
 protected:
  ~Diagnosed() override {
    if (has_user_) query("DROP USER " + user_ + "@'%'");
  }
  // Of a user that may do what a client does, and no more.
  std::string least() {
    make_tables(url());
    query("CREATE USER " + user_ + "@'%' IDENTIFIED BY ''");
    has_user_ = true;
    for (const char* grant :
         {"SELECT, INSERT, UPDATE ON locks", "SELECT, INSERT, UPDATE, DELETE ON holdfast_waiters",
          "SELECT, INSERT, UPDATE ON holdfast_facts", "SELECT, INSERT ON holdfast_log",
          "SELECT ON holdfast_state", "SELECT, INSERT, UPDATE, DELETE ON holdfast_jobs",
          "SELECT, INSERT, UPDATE, DELETE ON holdfast_ticks"})
      query("GRANT " + std::string(grant) + " TO " + user_);
    return server().url(user_, database_);
  }
  // A note that such a user always gets: MySQL does not tell them whether it is a replica.
  std::vector<std::string> usual() const {
    return mysql() ? std::vector<std::string>{"note mariadb.unseen"} : std::vector<std::string>{};
  }
  const std::string user_ = "u_" + random_hex(16);
  bool has_user_ = false;
};

TEST_P(Diagnosed, a_server_that_is_set_up_well_has_nothing_to_be_said_about) {
  const Diagnosis diagnosis = diagnosis_of(least());
  EXPECT_EQ(but_for_snapshots(topics_of(diagnosis.findings)), usual());
  EXPECT_EQ(diagnosis.grade, Grade::B);
  EXPECT_THAT(diagnosis.server,
              ::testing::MatchesRegex(mysql() ? "MySQL [0-9]+[.][0-9.]+" : "MariaDB [0-9]+[.][0-9.]+"));
}

TEST_P(Diagnosed, a_user_with_all_privileges_has_more_than_leases_need) {
  make_tables(url());
  EXPECT_THAT(but_for_snapshots(topics_at(url())), ElementsAre("note mariadb.superuser"));
}

TEST_P(Diagnosed, tables_that_are_missing_are_no_danger_and_are_not_made) {
  const Diagnosis diagnosis = diagnosis_of(url());
  EXPECT_THAT(topics_of(diagnosis.findings), Contains("warning mariadb.tables"));
  EXPECT_EQ(diagnosis.grade, Grade::C);
  EXPECT_EQ(query("SHOW TABLES"), "");
  make_tables(url());
  query("DROP TABLE holdfast_ticks");
  EXPECT_THAT(topics_at(url()), Contains("note mariadb.jobs"));
}

TEST_P(Diagnosed, another_engine_a_collation_and_another_type_are_dangers) {
  make_tables(url());
  query("ALTER TABLE locks MODIFY locked_until DATETIME");
  EXPECT_THAT(topics_at(url()), Contains("danger mariadb.columns"));
  query("ALTER TABLE locks MODIFY locked_until DATETIME(6), MODIFY `key` VARCHAR(255) NOT NULL");
  EXPECT_THAT(topics_at(url()), Contains("danger mariadb.collation"));
  query("ALTER TABLE locks MODIFY `key` VARBINARY(512) NOT NULL, ENGINE=MyISAM");
  const Diagnosis diagnosis = diagnosis_of(url());
  EXPECT_THAT(topics_of(diagnosis.findings), Contains("danger mariadb.engine"));
  EXPECT_THAT(the(diagnosis, "mariadb.engine").what, HasSubstr("MyISAM"));
  EXPECT_EQ(diagnosis.grade, Grade::D);
}

TEST_P(Diagnosed, darwins_layout_is_judged_as_it_is_meant) {
  make_tables(url() + "?layout=darwin");
  const Diagnosis diagnosis = diagnosis_of(url() + "?layout=darwin");
  EXPECT_THAT(but_for_snapshots(topics_of(diagnosis.findings)),
              ElementsAre("warning mariadb.layout", "note mariadb.superuser"));
  EXPECT_EQ(diagnosis.grade, Grade::C);
}

TEST_P(Diagnosed, shedlocks_layout_is_judged_as_it_is_meant) {
  make_tables(url() + "?layout=shedlock");
  const Diagnosis diagnosis = diagnosis_of(url() + "?layout=shedlock");
  EXPECT_THAT(but_for_snapshots(topics_of(diagnosis.findings)),
              ElementsAre("warning mariadb.layout", "note mariadb.superuser"));
  EXPECT_THAT(the(diagnosis, "mariadb.layout").what, HasSubstr("layout=shedlock"));
}

TEST_P(Diagnosed, a_missing_privilege_comes_with_the_grant_that_gives_it) {
  const std::string url = least();
  query("REVOKE UPDATE ON locks FROM " + user_);
  query("REVOKE SELECT, INSERT, UPDATE ON holdfast_facts FROM " + user_);
  query("REVOKE DELETE ON holdfast_waiters FROM " + user_);
  query("GRANT INSERT ON holdfast_state TO " + user_ + "; REVOKE SELECT ON holdfast_state FROM " + user_);
  const Diagnosis diagnosis = diagnosis_of(url);
  EXPECT_TRUE(has(diagnosis, "mariadb.privileges", Severity::danger));
  const std::string advice = the(diagnosis, "mariadb.privileges").advice;
  EXPECT_THAT(advice, HasSubstr("GRANT UPDATE ON `locks`"));
  query(advice);  // it is SQL
  EXPECT_EQ(but_for_snapshots(topics_at(url)), usual()) << advice;
  for (const char* table : {"locks", "holdfast_waiters", "holdfast_facts", "holdfast_log"})
    EXPECT_EQ(query("SELECT COUNT(*) FROM " + std::string(table)), "0") << "only looked";
}

TEST_P(Diagnosed, whether_it_is_a_replica_is_shown_to_users_who_may_ask) {
  const std::string url = least();
  const std::string unseen = the(diagnosis_of(url), "mariadb.unseen").what;
  EXPECT_EQ(unseen.find("REPLICATION CLIENT") != std::string::npos, mysql()) << unseen;
  query("GRANT " + std::string(mysql() ? "REPLICATION CLIENT" : "REPLICA MONITOR") + " ON *.* TO " + user_);
  EXPECT_THAT(but_for_snapshots(topics_at(url)), IsEmpty());
}

TEST_P(Diagnosed, a_user_with_few_connections_still_gets_all_findings_and_one_about_that) {
  const std::string url = least();
  query("REVOKE UPDATE ON locks FROM " + user_);
  query("ALTER USER " + user_ + "@'%' WITH MAX_USER_CONNECTIONS 1");
  std::optional<Diagnosis> diagnosis;
  ASSERT_TRUE(await([&] {
    auto told = try_store(url).value()->admin()->diagnose(soon());
    if (told) diagnosis = *std::move(told);
    return diagnosis.has_value();
  }));
  EXPECT_TRUE(has(*diagnosis, "mariadb.connections", Severity::warning));
  EXPECT_TRUE(has(*diagnosis, "mariadb.privileges", Severity::danger));
}

TEST_P(Diagnosed, a_server_that_loses_what_it_acknowledged_and_another_behind_the_same_address) {
  std::vector<std::string> lines = {
      "innodb_flush_log_at_trx_commit=2", "log_bin=log", "server_id=7", "sync_binlog=0", "sysdate_is_now",
      "binlog_format=STATEMENT"};
  if (!mysql()) lines.emplace_back("innodb_snapshot_isolation=ON");
  const MariaServer own({.lines = lines, .mysql = mysql()});
  const Diagnosis diagnosis = diagnosis_of(own.url());
  const auto topics = topics_of(diagnosis.findings);
  EXPECT_THAT(topics, IsSupersetOf({"warning mariadb.flush-log", "warning mariadb.sync-binlog",
                                    "warning mariadb.sysdate", "danger mariadb.binlog-format"}));
  const bool isolated =
      std::find(topics.begin(), topics.end(), "note mariadb.snapshot-isolation") != topics.end();
  EXPECT_EQ(isolated, !mysql());
  EXPECT_EQ(diagnosis.grade, Grade::D);

  own.query("SET GLOBAL read_only = 1");
  EXPECT_THAT(topics_at(own.url()), Contains("danger mariadb.read-only"));
  own.query("SET GLOBAL read_only = 0");
  EXPECT_THAT(topics_at(own.url()), Not(Contains("danger mariadb.replica")));
  // Nobody is at that port, and it tries.
  own.query(mysql()
                ? "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = "
                  "'u'; START REPLICA"
                : "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'u'; "
                  "START SLAVE");
  EXPECT_TRUE(await([&] { return about(diagnosis_of(own.url()), "mariadb.replica") != nullptr; }));

  const Relay relay({server().port(), own.port()});
  const std::string both = "mariadb://app@127.0.0.1:" + std::to_string(relay.port()) + "/app";
  EXPECT_THAT(topics_at(both), Contains("danger mariadb.several-servers"));
  const Relay same({server().port()});
  const std::string one = "mariadb://app@127.0.0.1:" + std::to_string(same.port()) + "/app";
  EXPECT_THAT(topics_at(one), Not(Contains("danger mariadb.several-servers")));
}

TEST_P(Diagnosed, a_server_that_is_far_away_is_asked_less_often_and_judged_in_time) {
  make_tables(url());
  const Relay far({server().port()}, 200ms);
  const std::string there = "mariadb://app@127.0.0.1:" + std::to_string(far.port()) + "/app";
  const auto diagnosis = try_store(there).value()->admin()->diagnose(BootClock::now() + 7s);
  ASSERT_TRUE(diagnosis) << diagnosis.error().detail;
  EXPECT_NE(diagnosis->server, "");
}

HOLDFAST_ON_BOTH(Diagnosed);

// That of MariaDB is in outcomes_test.cpp.
TEST(Replicas, of_mysql_that_do_not_confirm_are_a_warning_about_their_primary) {
  const MariaServer primary({.lines = {"log_bin=log", "server_id=1"}, .mysql = true});
  MariaServer replica({.lines = {"log_bin=log", "server_id=2"}, .mysql = true});
  replica.stop();
  std::filesystem::remove(replica.data() + "/auto.cnf");  // both are copies of one folder, and of its name
  replica.start();
  const auto said = [&] { return the(diagnosis_of(primary.url()), "mariadb.semi-sync").what; };
  EXPECT_EQ(said(), "");
  primary.query("RESET BINARY LOGS AND GTIDS");  // whose users the replica has already
  replica.query(
      "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'app', SOURCE_PORT = " +
      std::to_string(primary.port()) + ", GET_SOURCE_PUBLIC_KEY = 1; START REPLICA");
  EXPECT_TRUE(await([&] { return said().find("asynchronous") != std::string::npos; }));
  primary.query(
      "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; SET GLOBAL "
      "rpl_semi_sync_source_enabled = ON");
  EXPECT_THAT(said(), HasSubstr("no replica confirms"));
  replica.query(
      "STOP REPLICA; INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'; SET GLOBAL "
      "rpl_semi_sync_replica_enabled = ON; START REPLICA");
  EXPECT_TRUE(await([&] { return said().empty(); }));
  primary.query("SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT");
  EXPECT_THAT(said(), HasSubstr("after other clients can see it"));
}

// A group of one is one, too.
TEST(Groups, of_mysql_with_several_primaries_are_a_warning) {
  const MariaServer member({.lines = {"log_bin=log", "server_id=7", "gtid_mode=ON", "report_host=127.0.0.1",
                                      "enforce_gtid_consistency=ON", "performance_schema=ON"},
                            .mysql = true});
  member.query("CREATE USER ordinary@'%' IDENTIFIED BY ''; GRANT SELECT ON app.* TO ordinary@'%'");
  member.query(
      "INSTALL PLUGIN group_replication SONAME 'group_replication.so'; SET GLOBAL "
      "group_replication_group_name = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa', "
      "group_replication_single_primary_mode = OFF, group_replication_bootstrap_group = ON");
  EXPECT_EQ(about(diagnosis_of(member.url()), "mariadb.group"), nullptr) << "it has not begun";
  ASSERT_TRUE(await([&] {  // somebody else may have taken the port meanwhile
    try {
      member.query("SET GLOBAL group_replication_local_address = '127.0.0.1:" + std::to_string(free_port()) +
                   "'; START GROUP_REPLICATION");
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  const Diagnosis diagnosis = diagnosis_of(member.url());
  EXPECT_TRUE(has(diagnosis, "mariadb.group", Severity::warning));
  EXPECT_EQ(about(diagnosis, "mariadb.replica"), nullptr);
  EXPECT_TRUE(has(diagnosis_of(member.url("ordinary", "app")), "mariadb.group", Severity::warning));
}

TEST(Findings, that_keep_every_client_out_say_that_no_lease_is_granted) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  const auto deep = [&](const mariadb::Depth& depth, const mariadb::ServerProbe& probe) {
    return blocking_topics_of(mariadb::findings_of(depth, probe, config));
  };
  EXPECT_TRUE(deep({.servers = 2}, {}).empty());
  EXPECT_THAT(deep({}, {.missing = {"locks"}}), ElementsAre("mariadb.tables"));
  EXPECT_THAT(deep({}, {.wrong = "it is another"}), ElementsAre("mariadb.columns"));
  EXPECT_TRUE(deep({}, {.wrong = "it is another", .flaw = mariadb::Flaw::engine}).empty());
  EXPECT_THAT(deep({.lacks = {"GRANT"}}, {}), ElementsAre("mariadb.privileges"));
  EXPECT_THAT(blocking_topics_of(mariadb::findings_of({.version = "5.5.1-MariaDB"}, config)),
              ::testing::Contains("mariadb.version"));
}

// Answers that no server here can give, or not soon.
TEST(Findings, of_replicas_that_have_been_too_slow_to_confirm) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  mariadb::Depth depth{.settings = {{"rpl_semi_sync_master_enabled", "ON"}},
                       .status = {{"Rpl_semi_sync_master_clients", "1"},
                                  {"Rpl_semi_sync_master_status", "ON"},
                                  {"Slaves_connected", "1"}},
                       .replicas = 1};
  const auto topics = [&] { return topics_of(mariadb::findings_of(depth, {}, config)); };
  EXPECT_TRUE(topics().empty());
  depth.status["Rpl_semi_sync_master_status"] = "OFF";
  EXPECT_THAT(topics(), ElementsAre("warning mariadb.semi-sync"));
}

TEST(Findings, of_replicas_that_this_user_may_not_see) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  const mariadb::ServerProbe probe{.settings = {{"log_bin", "ON"}}};
  const auto topics = [&](const mariadb::Depth& depth, const mariadb::ServerProbe& of) {
    return topics_of(mariadb::findings_of(depth, of, config));
  };
  EXPECT_THAT(topics({.held = {"GRANT USAGE ON *.* TO `u`@`%`"}}, probe), ElementsAre("note mariadb.unseen"));
  EXPECT_TRUE(topics({.held = {"GRANT USAGE ON *.* TO `u`@`%`"}}, {}).empty()) << "nobody can fetch a log";
  EXPECT_TRUE(topics({.held = {"GRANT PROCESS, RELOAD ON *.* TO `u`@`%`"}}, probe).empty());
  EXPECT_TRUE(topics({.status = {{"Slaves_connected", "0"}}}, probe).empty()) << "MariaDB tells everybody";
}

TEST(Findings, of_a_replica_that_this_user_may_not_see) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  const auto topics = [&](const std::string& version) {
    return topics_of(mariadb::findings_of({.source_untold = true}, {.version = version}, config));
  };
  EXPECT_THAT(topics("8.4.6"), ElementsAre("note mariadb.unseen"));
  EXPECT_TRUE(topics("10.11.14-MariaDB").empty()) << "it tells everybody";
}

TEST(Findings, of_a_group_with_several_primaries) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  mariadb::Depth depth{
      .settings = {{"group_replication_single_primary_mode", "OFF"},
                   {"group_replication_group_name", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}}};
  const auto topics = [&] { return topics_of(mariadb::findings_of(depth, {}, config)); };
  EXPECT_THAT(topics(), ElementsAre("warning mariadb.group"));
  depth.in_group = false;
  EXPECT_TRUE(topics().empty()) << "it is not in it now";
  depth.in_group = true;
  depth.settings["group_replication_single_primary_mode"] = "ON";
  EXPECT_TRUE(topics().empty());
  depth.settings = {{"group_replication_single_primary_mode", "OFF"}, {"group_replication_group_name", ""}};
  EXPECT_TRUE(topics().empty()) << "the plugin is there, and no more";
}

TEST(Findings, of_a_server_that_is_too_old) {
  const mariadb::StoreConfig config({}, mariadb::Tables::named("locks", mariadb::Layout::own).value(),
                                    "client");
  const auto topics = [&](const std::string& version) {
    const mariadb::ServerProbe probe{
        .version = version,
        .settings = {{"read_only", "OFF"}, {"innodb_flush_log_at_trx_commit", "1"}, {"log_bin", "OFF"}}};
    return topics_of(mariadb::findings_of(probe, config));
  };
  EXPECT_THAT(topics("5.7.44-log"), ElementsAre("danger mariadb.version"));
  EXPECT_THAT(topics("10.5.23-MariaDB"), ElementsAre("danger mariadb.version"));
  EXPECT_TRUE(topics("10.11.14-MariaDB").empty());
  EXPECT_TRUE(topics("9.7.0").empty());
}

}  // namespace
}  // namespace holdfast::test
