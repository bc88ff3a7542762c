// SPDX-License-Identifier: Apache-2.0
// What `holdfast doctor` finds about a file: each row of the table in docs/stores/sqlite.md.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "base/fd.h"
#include "stores/sqlite/findings.h"
#include "stores/sqlite/probe.h"
#include "tests/sqlite/apart.h"
#include "tests/sqlite/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class DiagnosisOfSqlite : public SqliteTest {
 protected:
  static Diagnosis diagnose(const std::string& path,
                            const sqlite::Machine& machine = sqlite::this_machine().value()) {
    Diagnosis diagnosis = sqlite::store({.path = path}, machine).value()->admin()->diagnose(soon()).value();
    for (const Finding& finding : diagnosis.findings) EXPECT_NE(finding.advice, "") << finding.topic;
    return diagnosis;
  }
  Diagnosis diagnose() { return diagnose(path_); }

  // "danger D" for what is found about a topic, with the class; empty: nothing.
  static std::string severity_of(const Diagnosis& diagnosis, const char* topic) {
    const Finding* const finding = about(diagnosis, topic);
    return finding == nullptr ? ""
                              : std::string(to_string(finding->severity)) + " " + to_string(diagnosis.grade);
  }
  // The text of a finding and its advice.
  static std::string words_about(const Diagnosis& diagnosis, const char* topic) {
    const Finding* const finding = about(diagnosis, topic);
    return finding == nullptr ? "" : finding->what + "; " + finding->advice;
  }
  static sqlite::Machine on(std::uint32_t kind) {
    sqlite::Machine machine = sqlite::this_machine().value();
    machine.file_system = [kind](const std::string&) { return kind; };
    return machine;
  }
  static constexpr std::uint32_t a_disk = 0xEF53;
};

TEST_F(DiagnosisOfSqlite, a_file_in_use_on_a_disk_is_class_b_with_notes_only) {
  SqliteCaller here(path_);
  ASSERT_TRUE(here.granted("k"));
  const Diagnosis diagnosis = diagnose(path_, on(a_disk));
  EXPECT_EQ(diagnosis.grade, Grade::B);
  EXPECT_EQ(diagnosis.server, std::string("SQLite ") + sqlite3_libversion());
  for (const Finding& finding : diagnosis.findings)
    EXPECT_EQ(finding.severity, Severity::note) << finding.what;
  EXPECT_EQ(severity_of(diagnosis, "sqlite.power-loss"), "note B");
  EXPECT_TRUE(here.granted("another")) << "and it goes on working";
}

TEST_F(DiagnosisOfSqlite, of_a_file_that_is_not_there_the_place_is_judged_and_nothing_is_made) {
  EXPECT_EQ(diagnose(scratch_.path() + "/new/leases.db", on(a_disk)).grade, Grade::B);
  EXPECT_EQ(severity_of(diagnose(scratch_.path() + "/new/leases.db", on(0x6969)), "sqlite.file-system"),
            "danger D");
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(DiagnosisOfSqlite, a_network_file_system_is_a_danger_even_if_accepted) {
  const struct {
    std::uint32_t kind;
    const char* name;
  } table[] = {{0x6969, "NFS"},        {0xFF534D42, "SMB"},  {0x65735546, "FUSE"},   {0x01021997, "9p"},
               {0x786F4256, "vboxsf"}, {0x47504653, "GPFS"}, {0x0BD00BD0, "Lustre"}, {0x00C36400, "Ceph"}};
  for (const auto& row : table) {
    const Diagnosis diagnosis = diagnose(path_, on(row.kind));
    EXPECT_EQ(severity_of(diagnosis, "sqlite.file-system"), "danger D") << row.name;
    EXPECT_NE(words_about(diagnosis, "sqlite.file-system").find(row.name), std::string::npos);
  }
  const auto daring = sqlite::store({.path = path_, .allow_unsafe = true}, on(0x6969)).value();
  EXPECT_EQ(daring->admin()->diagnose(soon()).value().grade, Grade::D);
}

TEST_F(DiagnosisOfSqlite, a_lock_and_shared_memory_are_tried_with_a_second_process) {
  const auto lock_visibility = sqlite::lock_visibility_in(scratch_.path());
  ASSERT_TRUE(lock_visibility);
  EXPECT_TRUE(lock_visibility->locks);
  EXPECT_TRUE(lock_visibility->memory);
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
  EXPECT_FALSE(sqlite::lock_visibility_in(scratch_.path() + "/nowhere"));
}

// A file system on which each process has a file of its own.
TEST_F(DiagnosisOfSqlite, a_place_where_processes_do_not_meet_is_a_danger) {
  sqlite::Machine machine = on(a_disk);
  machine.lock_visibility = [](const std::string& folder) {
    const Fd ours(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    const Fd theirs(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return sqlite::lock_visibility_between(ours.get(), theirs.get());
  };
  const auto lock_visibility = machine.lock_visibility(scratch_.path());
  ASSERT_TRUE(lock_visibility);
  EXPECT_FALSE(lock_visibility->locks);
  EXPECT_FALSE(lock_visibility->memory);
  EXPECT_EQ(severity_of(diagnose(path_, machine), "sqlite.processes"), "danger D");
  EXPECT_NE(words_about(diagnose(path_, machine), "sqlite.processes").find("can lock the same file"),
            std::string::npos);
  machine.lock_visibility = [](const std::string&) { return sqlite::LockVisibility{.locks = true}; };
  EXPECT_NE(words_about(diagnose(path_, machine), "sqlite.processes").find("memory"), std::string::npos);
  machine.lock_visibility = [](const std::string&) { return sqlite::LockVisibility{.error = ENOLCK}; };
  EXPECT_NE(words_about(diagnose(path_, machine), "sqlite.processes").find("cannot be locked"),
            std::string::npos);
  machine.lock_visibility = [](const std::string&) { return std::optional<sqlite::LockVisibility>(); };
  EXPECT_EQ(severity_of(diagnose(path_, machine), "sqlite.processes"), "") << "it could not be tried";
}

// If other code reaps all children of the process, or ignores SIGCHLD, the answer is the same.
TEST_F(DiagnosisOfSqlite, a_program_that_ignores_its_children_gets_the_same_answer) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const auto lock_visibility = sqlite::lock_visibility_in(scratch_.path());
  ::signal(SIGCHLD, before);
  ASSERT_TRUE(lock_visibility);
  EXPECT_TRUE(lock_visibility->locks && lock_visibility->memory);
}

TEST_F(DiagnosisOfSqlite, memory_and_overlays_are_a_warning_for_real) {
  const std::string said = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    const std::string base = scratch_.path() + "/base", over = scratch_.path() + "/over";
    fs::create_directory(base);
    fs::create_directory(over);
    mount_memory(base, "size=64m,mode=700");
    if (severity_of(diagnose(base + "/leases.db"), "sqlite.passing") != "warning C") return "not in memory";
    for (const char* const part : {"/low", "/up", "/work"}) fs::create_directory(base + part);
    const std::string options =
        "lowerdir=" + base + "/low,upperdir=" + base + "/up,workdir=" + base + "/work";
    if (::mount("none", over.c_str(), "overlay", 0, options.c_str()) != 0) return "";  // a kernel without
    return severity_of(diagnose(over + "/leases.db"), "sqlite.passing") == "warning C" ? ""
                                                                                       : "not on an overlay";
  });
  if (said == "no mounts") GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(said, "");
  EXPECT_EQ(severity_of(diagnose(path_, on(a_disk)), "sqlite.passing"), "");
}

TEST_F(DiagnosisOfSqlite, a_disk_that_is_full_is_a_danger_and_one_that_nearly_is_a_warning) {
  const std::string said = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    const std::string folder = scratch_.path() + "/small", path = folder + "/leases.db";
    fs::create_directory(folder);
    mount_memory(folder, "size=8m,mode=700");
    if (!SqliteCaller(path).granted("k")) return "not granted";
    if (severity_of(diagnose(path), "sqlite.room") != "warning C") return "8 MB are not said to be little";
    std::ofstream(folder + "/rubbish") << std::string(9 << 20, 'x');
    if (severity_of(diagnose(path), "sqlite.room") != "danger D") return "not said to be full";
    fs::remove(folder + "/rubbish");
    change_memory(folder, "size=64m");
    return severity_of(diagnose(path), "sqlite.room").empty() ? "" : "64 MB are said to be little";
  });
  if (said == "no mounts") GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(said, "");
}

TEST_F(DiagnosisOfSqlite, what_we_may_not_write_is_a_danger) {
  ASSERT_TRUE(SqliteCaller(path_).granted("k"));
  const std::string said = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    mount_read_only(scratch_.path());
    return severity_of(diagnose(), "sqlite.read-only");
  });
  EXPECT_TRUE(said == "danger D" || said == "no mounts") << said;
  ::chmod(scratch_.path().c_str(), 0755);
  ::chmod(path_.c_str(), 0444);
  EXPECT_EQ(apart([&] {
              become_ordinary();
              return severity_of(diagnose(), "sqlite.read-only");
            }),
            "danger D");
  EXPECT_EQ(severity_of(diagnose(), "sqlite.read-only"), ::geteuid() == 0 ? "" : "danger D");
}

TEST_F(DiagnosisOfSqlite, a_folder_that_we_may_not_write_is_a_danger_only_if_something_is_yet_to_be_made) {
  const SqliteCaller owner(path_);
  ASSERT_TRUE(SqliteCaller(path_).granted("k"));
  const auto seen = [&] {
    return apart([&] {
      become_ordinary();
      return severity_of(diagnose(), "sqlite.read-only");
    });
  };
  ::chmod(scratch_.path().c_str(), 0755);
  for (const char* const end : {"", "-wal", "-shm"}) {
    ASSERT_TRUE(fs::exists(path_ + end)) << end;
    ::chmod((path_ + end).c_str(), 0666);
  }
  ::chmod((path_ + ".d").c_str(), 0777);
  EXPECT_TRUE(seen().starts_with("warning")) << seen();
  EXPECT_EQ(apart([&] {
              become_ordinary();
              return severity_of(diagnose(scratch_.path() + "/another.db"), "sqlite.read-only");
            }),
            "danger D");
}

TEST_F(DiagnosisOfSqlite, a_folder_that_everybody_writes_is_a_danger_unless_it_is_sticky) {
  ASSERT_TRUE(SqliteCaller(path_).granted("k"));
  ::chmod(scratch_.path().c_str(), 0777);
  EXPECT_EQ(severity_of(diagnose(), "sqlite.open-folder"), "danger D");
  EXPECT_TRUE(words_about(diagnose(), "sqlite.open-folder").ends_with("; chmod o-w " + scratch_.path()));
  ::chmod(scratch_.path().c_str(), 01777);
  const Diagnosis sticky = diagnose(path_, on(a_disk));
  EXPECT_EQ(severity_of(sticky, "sqlite.open-folder"), "");
  EXPECT_EQ(severity_of(sticky, "sqlite.sticky-folder"), "note B");
}

TEST_F(DiagnosisOfSqlite, a_folder_of_another_user_is_a_danger) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders to others";
  ASSERT_TRUE(SqliteCaller(path_).granted("k"));
  ASSERT_EQ(severity_of(diagnose(path_, on(a_disk)), "sqlite.foreign-folder"), "");
  ASSERT_EQ(::chown(scratch_.path().c_str(), 12001, 12001), 0);
  EXPECT_EQ(severity_of(diagnose(), "sqlite.foreign-folder"), "danger D");
  EXPECT_NE(words_about(diagnose(), "sqlite.foreign-folder").find("uid 12001"), std::string::npos);
  EXPECT_EQ(severity_of(diagnose(scratch_.path() + "/new/leases.db"), "sqlite.foreign-folder"), "danger D");
}

TEST_F(DiagnosisOfSqlite, a_file_with_two_names_or_of_everybody_or_behind_a_link_is_a_danger) {
  ASSERT_TRUE(SqliteCaller(path_).granted("k"));
  fs::create_hard_link(path_, scratch_.path() + "/second.db");
  EXPECT_EQ(severity_of(diagnose(), "sqlite.file"), "danger D");
  EXPECT_NE(words_about(diagnose(), "sqlite.file").find("hard links"), std::string::npos);
  fs::remove(scratch_.path() + "/second.db");
  EXPECT_EQ(severity_of(diagnose(), "sqlite.file"), "");

  fs::create_symlink(path_, scratch_.path() + "/link.db");
  EXPECT_EQ(severity_of(diagnose(scratch_.path() + "/link.db"), "sqlite.file"), "danger D");

  ::chmod(path_.c_str(), 0606);
  EXPECT_EQ(severity_of(diagnose(), "sqlite.file"), "danger D");
  EXPECT_NE(words_about(diagnose(), "sqlite.file").find("chmod o-w"), std::string::npos);
  ::chmod(path_.c_str(), 0600);
  ::chmod((path_ + ".d").c_str(), 0777);
  EXPECT_EQ(severity_of(diagnose(), "sqlite.file"), "danger D");
}

TEST_F(DiagnosisOfSqlite, a_file_that_was_replaced_while_somebody_uses_it_is_a_danger) {
  SqliteCaller here(path_);
  ASSERT_TRUE(here.granted("k"));
  for (const char* const suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix);
  ASSERT_TRUE(SqliteCaller(path_).granted("k")) << "two have it now";
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(severity_of(diagnosis, "sqlite.replaced"), "danger D");
  EXPECT_NE(words_about(diagnosis, "sqlite.replaced").find("pid " + std::to_string(::getpid())),
            std::string::npos);
}

TEST_F(DiagnosisOfSqlite, another_time_namespace_is_a_danger_and_another_boot_is_a_note) {
  sqlite::Machine machine = on(a_disk);
  ASSERT_TRUE(SqliteCaller(sqlite::store({.path = path_}, machine).value()).granted("k"));
  machine.time_namespace += 1;
  EXPECT_EQ(severity_of(diagnose(path_, machine), "sqlite.time-namespace"), "danger D");
  machine.boot_id = "another";
  const Diagnosis rebooted = diagnose(path_, machine);
  EXPECT_EQ(severity_of(rebooted, "sqlite.time-namespace"), "");
  EXPECT_EQ(severity_of(rebooted, "sqlite.boot"), "note B");
}

TEST_F(DiagnosisOfSqlite, what_is_not_ours_is_a_danger_and_stays_as_it_is) {
  std::ofstream(path_) << "dear diary";
  ::chmod(path_.c_str(), 0600);
  EXPECT_EQ(severity_of(diagnose(), "sqlite.contents"), "danger D");
  EXPECT_EQ(bytes_of(path_), "dear diary");

  const std::string planted = scratch_.path() + "/planted.db";
  ASSERT_TRUE(SqliteCaller(planted).granted("k"));
  RawDatabase(planted).ask("CREATE TRIGGER t AFTER UPDATE ON locks BEGIN SELECT 1; END");
  EXPECT_EQ(severity_of(diagnose(planted), "sqlite.contents"), "danger D");
}

TEST_F(DiagnosisOfSqlite, without_room_or_rights_no_lease_is_granted) {
  using ::testing::ElementsAre;
  const auto of = [](const sqlite::RoomProbe& room, bool all_made) {
    return blocking_topics_of(sqlite::about_room("/var/lib", room, all_made));
  };
  EXPECT_THAT(of({.obstacle = ENOSPC}, true), ElementsAre("sqlite.room"));
  EXPECT_THAT(of({.obstacle = EACCES}, false), ElementsAre("sqlite.read-only"));
  EXPECT_TRUE(of({.obstacle = EACCES}, true).empty()) << "all files exist";
  EXPECT_TRUE(of({.bytes = 1}, true).empty()) << "the disk is nearly full";
  EXPECT_THAT(blocking_topics_of(sqlite::about_access("f", EACCES)), ElementsAre("sqlite.read-only"));
}

TEST_F(DiagnosisOfSqlite, an_old_library_is_a_note_and_no_more) {
  const auto topics = [](int version) { return topics_of(sqlite::about_process(version, {})); };
  for (const int version : {3040001, 3051002})
    EXPECT_THAT(topics(version), ::testing::Contains("note sqlite.library")) << version;
  for (const int version : {3051003, 3053000})
    EXPECT_THAT(topics(version), ::testing::Not(::testing::Contains("note sqlite.library"))) << version;
  EXPECT_EQ(about(diagnose(), "sqlite.library") != nullptr, sqlite3_libversion_number() < 3051003);
}

TEST_F(DiagnosisOfSqlite, a_second_copy_of_sqlite_in_the_process_is_a_warning) {
  std::istringstream maps(
      "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libsqlite3.so.0.8.6\n"
      "7f01-7f02 r--p 0 08:01 1 /usr/lib/libsqlite3.so.0.8.6\n"
      "7f02-7f03 r-xp 0 08:01 2 /opt/lib/libsqlite3.so.0\n"
      "7f03-7f04 r-xp 0 08:01 2 /opt/lib/libsqlite3.so.0\n"
      "7f04-7f05 rw-s 0 08:01 3 /var/libsqlite3.db\n"
      "7f05-7f06 rw-p 0 00:00 0 [heap]\n");
  EXPECT_EQ(sqlite::other_sqlites(maps, "/usr/lib/libsqlite3.so.0.8.6"),
            std::vector<std::string>{"/opt/lib/libsqlite3.so.0"});
  EXPECT_EQ(severity_of(diagnose(path_, on(a_disk)), "sqlite.copies"), "");

  Dl_info ours{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&sqlite3_libversion), &ours), 0);
  const std::string copy = scratch_.path() + "/libsqlite3-copy.so";
  fs::copy_file(fs::canonical(ours.dli_fname), copy);
  void* const loaded = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) GTEST_SKIP() << "SQLite is no library of its own here: " << ::dlerror();
  EXPECT_EQ(severity_of(diagnose(path_, on(a_disk)), "sqlite.copies"), "warning C");
  ::dlclose(loaded);
}

}  // namespace
}  // namespace holdfast::test
