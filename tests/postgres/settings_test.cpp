// SPDX-License-Identifier: Apache-2.0
// Addresses: what is read, what is added, what is never shown.
#include "stores/postgres/settings.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "holdfast/client.h"
#include "stores/postgres/fault.h"
#include "stores/postgres/tables.h"
#include "tests/postgres/suite.h"

namespace holdfast::test {
namespace {

using postgres::Settings;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string word(const Settings& settings, std::string_view name) {
  for (const auto& [key, value] : settings.words()) {
    if (key == name) return value;
  }
  return "";
}

// In the environment, and gone again.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Settings, a_host_elsewhere_gets_verify_full_and_a_local_one_does_not) {
  for (const char* local : {"postgres://app@localhost/app", "postgres://app@127.0.0.1/app", "postgres:///app",
                            "postgres://app@[::1]/app", "postgres:///app?host=/run/postgresql"})
    EXPECT_EQ(word(Settings::from(local, {}).value(), "sslmode"), "") << local;
  const Settings elsewhere = Settings::from("postgres://app@db.example/app", {}).value();
  EXPECT_EQ(word(elsewhere, "sslmode"), "verify-full");
  EXPECT_EQ(word(elsewhere, "sslrootcert").empty(),
            ::access("/etc/ssl/certs/ca-certificates.crt", R_OK) != 0);
  EXPECT_EQ(word(Settings::from("postgres://app@localhost,db.example/app", {}).value(), "sslmode"),
            "verify-full");
  EXPECT_EQ(word(Settings::from("postgres://app@127.example.org/app", {}).value(), "sslmode"), "verify-full");
}

// Run in a process of its own, in which the home that the system knows of this user is an empty folder.
template <class Body>
int at_an_empty_home(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const passwd* const user = ::getpwuid(::geteuid());
    const bool ready = user != nullptr && ::unshare(CLONE_NEWNS) == 0 &&
                       ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("none", user->pw_dir, "tmpfs", 0, nullptr) == 0;
    ::_exit(ready ? body(std::string(user->pw_dir)) : 77);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Settings, a_certificate_of_ones_own_counts_without_HOME_too) {
  const int outcome = at_an_empty_home([](const std::string& home) {
    const std::string path = home + "/.postgresql/root.crt";
    std::filesystem::create_directories(home + "/.postgresql");
    write_file(path, "");
    const auto trusted = [] {
      return word(Settings::from("postgres://app@db.example/app", {}).value(), "sslrootcert");
    };
    ::setenv("HOME", home.c_str(), 1);
    const bool with = trusted() == path;
    ::unsetenv("HOME");
    const bool without = trusted() == path;
    ::setenv("HOME", "", 1);
    return (with ? 0 : 1) + (without ? 0 : 2) + (trusted() == path ? 0 : 4);
  });
  if (outcome == 77) GTEST_SKIP() << "it takes a mount of our own";
  EXPECT_EQ(outcome, 0);
}

TEST(Settings, the_system_notices_a_dead_connection_within_seconds_by_default) {
  const Settings usual = Settings::from("postgres://app@localhost/app", {}).value();
  for (const char* name : {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"})
    EXPECT_NE(word(usual, name), "") << name;
  const Settings given =
      Settings::from("postgres://app@localhost/app?keepalives_idle=77", {{"tcp_user_timeout", "5"}}).value();
  EXPECT_EQ(word(given, "keepalives_idle"), "77");
  EXPECT_EQ(word(given, "tcp_user_timeout"), "5");
}

TEST(Settings, what_is_given_is_left_as_it_is) {
  EXPECT_EQ(word(Settings::from("postgres://db.example/app", {{"sslmode", "require"}}).value(), "sslmode"),
            "require");
  const Variable mode("PGSSLMODE", "disable");
  EXPECT_EQ(word(Settings::from("postgres://db.example/app", {}).value(), "sslmode"), "");
}

TEST(Settings, an_empty_address_is_its_hosts_and_an_empty_mode_is_no_mode) {
  const auto mode_of = [](const std::string& addresses) {
    return word(Settings::from("host=db.example,localhost dbname=app hostaddr=" + addresses, {}).value(),
                "sslmode");
  };
  EXPECT_EQ(mode_of(",127.0.0.1"), "verify-full");
  EXPECT_EQ(mode_of("127.0.0.1,"), "");
  const Variable mode("PGSSLMODE", "");
  EXPECT_EQ(Settings::from("postgres://db.example/app", {}).error().code, Errc::invalid)
      << "libpq takes none";
}

TEST(Settings, the_environment_says_where) {
  const Variable host("PGHOST", "db.example"), database("PGDATABASE", "shop"), user("PGUSER", "olga");
  const Settings settings = Settings::from("postgres://", {}).value();
  EXPECT_EQ(settings.name(), "postgres://olga@db.example/shop");
  EXPECT_EQ(word(settings, "sslmode"), "verify-full");
}

TEST(Settings, a_service_file_says_where) {
  const Scratch folder;
  const std::string path = folder.path() + "/services";
  write_file(path, "[leases]\nhost=db.example\nport=6432\ndbname=shop\nuser=olga\npassword=hush-hush\n");
  const Variable file("PGSERVICEFILE", path);
  const Settings settings = Settings::from("postgres://?service=leases", {}).value();
  EXPECT_THAT(settings.name(),
              AllOf(HasSubstr("olga@db.example"), HasSubstr("/shop"), Not(HasSubstr("hush"))));
  EXPECT_EQ(word(settings, "sslmode"), "verify-full");
  EXPECT_THAT(settings.shown("it is hush-hush"), "it is ***");
}

TEST(Settings, a_password_is_in_no_name_and_no_message) {
  const auto store = try_store("postgres://app:hush@localhost:1/app?table=other").value();
  EXPECT_EQ(store->name(), "postgres://app@localhost:1/app?table=other");
  const auto connected = store->connect(soon());
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().detail, Not(HasSubstr("hush")));
  const auto bad = try_store("postgres://app:hush%2@localhost/app");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().detail, Not(HasSubstr("hush")));
}

TEST(Settings, an_address_that_is_cut_out_of_a_password_is_refused_and_not_repeated) {
  for (const char* url :
       {"postgres://app:hush@one@127.0.0.1/app", "postgres://app:hush/one@127.0.0.1/app",
        "postgres://app:hush@o/ne@127.0.0.1/app", "postgres://app:hush?one=x@127.0.0.1/app",
        "postgres://app:12?hush=x@127.0.0.1/app", "postgres://app:12?table=hush@127.0.0.1/app",
        "postgres://app:12?hush@h=one/app", "postgres:app:hush@127.0.0.1", "postgresql://hush:one/app"}) {
    const auto store = try_store(url);
    ASSERT_FALSE(store) << url;
    EXPECT_EQ(store.error().code, Errc::invalid) << url;
    EXPECT_THAT(store.error().detail, AllOf(HasSubstr("%40"), HasSubstr("%2F"), Not(HasSubstr("hush")),
                                            Not(HasSubstr("one@")), Not(HasSubstr("one="))))
        << url;
  }
  EXPECT_EQ(Settings::from("postgres://app:hush@one@localhost/app", {}).error().code, Errc::invalid);
  EXPECT_EQ(try_store("postgres://app:a%40b%2Fc%3Fd@localhost/app?user=x@y").value()->name(),
            "postgres://x@y@localhost/app");
}

TEST(Settings, what_can_never_work_is_invalid) {
  const auto said = [](const std::string& url) {
    const auto store = try_store(url);
    EXPECT_FALSE(store) << url;
    if (store) return std::string();
    EXPECT_EQ(store.error().code, Errc::invalid) << url;
    return store.error().detail;
  };
  for (const char* port : {"abc", "99999", "0", "5432x", "-1"})
    EXPECT_THAT(said("postgres://localhost:" + std::string(port) + "/app"), HasSubstr("1 to 65535"));
  EXPECT_THAT(said("postgres://localhost/app?port=abc"), HasSubstr("1 to 65535"));
  EXPECT_THAT(said("postgres://localhost/app?sslmode=foo"),
              AllOf(HasSubstr("foo"), HasSubstr("verify-full")));
  EXPECT_THAT(said("postgres://localhost/app?channel_binding=foo"), HasSubstr("foo"));
  EXPECT_THAT(said("postgres://?service=nosuch"), HasSubstr("nosuch"));
  const Variable mode("PGSSLMODE", "bar"), port("PGPORT", "abc");
  EXPECT_THAT(said("postgres://localhost:1/app"), HasSubstr("bar"));
  EXPECT_THAT(said("postgres://localhost/app?sslmode=disable"), HasSubstr("1 to 65535"));
}

TEST(Settings, a_name_is_a_url_that_leads_there) {
  for (const char* url :
       {"postgres://app@[::1]:1/app", "postgres://app@[::1]/app", "postgres://app@a:1,b:2/app",
        "postgres://app@a,b:2/app", "postgres://app@:1/app?host=/run/postgresql",
        "postgres://app@/app?host=/a,/b&port=1,2"}) {
    EXPECT_EQ(try_store(url).value()->name(), url);
  }
  EXPECT_EQ(Settings::from("host=a,b port=1 user=app dbname=app", {}).value().name(),
            "postgres://app@a:1,b:1/app");
}

TEST(Settings, parameters_that_nobody_knows_are_refused_by_name) {
  for (const char* layout : {"darwin", "hush@127.0.0.1"}) {
    const auto other = try_store("postgres://localhost/app?layout=" + std::string(layout));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::invalid);
    EXPECT_THAT(other.error().detail, AllOf(HasSubstr("layout=shedlock"), ::testing::Not(HasSubstr("hush"))));
  }
  EXPECT_EQ(try_store("postgres://app@localhost:1/app?layout=shedlock").value()->name(),
            "postgres://app@localhost:1/app?layout=shedlock");
  EXPECT_EQ(
      try_store("postgres://app@localhost:1/app?layout=shedlock").value()->in("a.other").value()->name(),
      "postgres://app@localhost:1/app?layout=shedlock&table=a.other");
  const auto store = try_store("postgres://localhost/app?tabel=other");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::invalid);
  EXPECT_THAT(store.error().detail, AllOf(HasSubstr("\"tabel\""), HasSubstr("table=")));
}

TEST(Settings, a_password_file_works) {
  const PostgresServer server({.fsync = false});
  const Scratch folder;
  const std::string path = folder.path() + "/pgpass";
  write_file(path, "127.0.0.1:*:*:postgres:" + std::string(PostgresAddress::superuser_password) + "\n");
  ::chmod(path.c_str(), 0600);
  const Variable file("PGPASSFILE", path);
  const auto reached = try_store(server.url("postgres", "postgres", "")).value()->admin()->plan(soon());
  EXPECT_TRUE(reached) << reached.error().detail;
}

TEST(TableNames, are_letters_digits_and_a_schema) {
  for (const char* good : {"locks", "app.locks", "Jobs_2", "_x"})
    EXPECT_TRUE(postgres::Tables::named(good)) << good;
  for (const char* bad :
       {"", "a.b.c", "1x", "a b", "a;b", "a\"b", ".x", "x.", "holdfast_log", "pg_catalog.locks"})
    EXPECT_EQ(postgres::Tables::named(bad).error().code, Errc::invalid) << bad;
  EXPECT_FALSE(postgres::Tables::named(std::string(47, 'x')));
}

TEST(Faults, every_state_says_whether_it_can_have_happened) {
  const auto code = [](const char* state) {
    return postgres::statement_error({state, "text"}, "there").code;
  };
  for (const char* nothing_happened :
       {"40001", "40P01", "55P03", "57014", "57P03", "53100", "53300", "0A000"})
    EXPECT_EQ(code(nothing_happened), Errc::unavailable) << nothing_happened;
  for (const char* refused : {"25006", "42501", "42703", "28000", "28P01", "3D000", "22001", "23505"})
    EXPECT_EQ(code(refused), Errc::refused) << refused;
  for (const char* no_tables : {"42P01", "3F000"}) EXPECT_EQ(code(no_tables), Errc::unprepared) << no_tables;
  for (const char* unclear : {"57P01", "57P02", "08006", "XX000", "58030", "99999", ""})
    EXPECT_EQ(code(unclear), Errc::in_doubt) << unclear;
}

}  // namespace
}  // namespace holdfast::test
