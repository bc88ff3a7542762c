// SPDX-License-Identifier: Apache-2.0
// Where locks may not reach every process, Holdfast keeps no lease unless the user accepts that.
#include <sys/mount.h>

#include <filesystem>

#include "stores/sqlite/probe.h"
#include "tests/sqlite/apart.h"
#include "tests/sqlite/suite.h"
#include "tests/support/findings.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class FileSystems : public SqliteTest {
 protected:
  static sqlite::Machine on(std::uint32_t kind) {
    sqlite::Machine machine = sqlite::this_machine().value();
    machine.file_system = [kind](const std::string&) { return kind; };
    return machine;
  }
};

TEST_F(FileSystems, a_network_file_system_is_refused_and_nothing_is_created) {
  const struct {
    std::uint32_t kind;
    const char* name;
  } table[] = {
      {0x6969, "NFS"}, {0xFF534D42, "SMB"}, {0x01021997, "9p"}, {0x65735546, "FUSE"}, {0x00C36400, "Ceph"}};
  for (const auto& row : table) {
    const std::string path = scratch_.path() + "/new/leases.db";
    const auto connection = sqlite::store({.path = path}, on(row.kind)).value()->connect(soon());
    ASSERT_FALSE(connection) << row.name;
    EXPECT_EQ(connection.error().code, Errc::refused);
    for (const std::string word :
         {row.name, "two owners could hold one key", "local disk", "accept=sqlite.file-system"})
      EXPECT_NE(connection.error().detail.find(word), std::string::npos) << connection.error().detail;
    EXPECT_TRUE(fs::is_empty(scratch_.path()));
  }
}

TEST_F(FileSystems, an_accepted_file_system_keeps_leases_and_is_class_d) {
  SqliteCaller here(sqlite::store({.path = path_, .allow_unsafe = true}, on(0x6969)).value());
  EXPECT_TRUE(here.granted("k"));
  const Traits traits = here.examine();
  EXPECT_EQ(traits.grade, Grade::D);
  ASSERT_EQ(found(traits).size(), 1u);
  EXPECT_NE(found(traits)[0].find("NFS"), std::string::npos);
  EXPECT_TRUE(SqliteCaller(here.store().in("jobs").value()).granted("k")) << "and so has another table of it";
}

TEST_F(FileSystems, accepting_the_file_system_does_not_accept_an_open_folder) {
  const auto accepting = [&](std::vector<std::string> topics) {
    return sqlite::store({.path = path_, .accept = std::move(topics)}, on(0x6969)).value();
  };
  EXPECT_TRUE(SqliteCaller(accepting({"sqlite.file-system"})).granted("k"));
  fs::permissions(scratch_.path(), fs::perms(0777));
  const auto open = accepting({"sqlite.file-system"})->connect(soon());
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Errc::refused);
  EXPECT_NE(open.error().detail.find("accept=sqlite.open-folder"), std::string::npos) << open.error().detail;
  EXPECT_FALSE(accepting({"sqlite.open-folder"})->connect(soon()));
  const auto both = accepting({"sqlite.file-system", "sqlite.open-folder"});
  EXPECT_TRUE(SqliteCaller(both).granted("k"));
  for (const Finding& finding : both->admin()->diagnose(soon()).value().findings)
    EXPECT_EQ(finding.accepted, finding.severity == Severity::danger) << finding.topic;
  fs::permissions(scratch_.path(), fs::perms(0700));
}

TEST_F(FileSystems, an_unknown_topic_is_refused_with_the_known_ones) {
  const auto store = sqlite::store({.path = path_, .accept = {"sqlite.nfs"}}, on(0));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::invalid);
  EXPECT_NE(store.error().detail.find("sqlite.file-system"), std::string::npos) << store.error().detail;
}

TEST_F(FileSystems, local_ones_are_taken_and_unknown_ones_too) {
  for (const std::uint32_t kind :
       {0xEF53u, 0x58465342u, 0x9123683Eu, 0x01021994u, 0x794C7630u, 0u, 0x12345678u})
    EXPECT_EQ(sqlite::unsafe_file_system(kind), nullptr) << kind;
}

TEST_F(FileSystems, memory_and_overlays_are_taken_for_real) {
  const std::string said = apart([&]() -> std::string {
    if (!keep_mounts_to_ourselves()) return "no mounts";
    const std::string base = scratch_.path() + "/base", over = scratch_.path() + "/over";
    fs::create_directory(base);
    fs::create_directory(over);
    mount_memory(base, "size=8m,mode=700");
    if (sqlite::file_system_of(base) != 0x01021994) return "no tmpfs";
    if (!SqliteCaller(base + "/leases.db").granted("k")) return "not granted in memory";
    for (const char* const part : {"/low", "/up", "/work"}) fs::create_directory(base + part);
    const std::string options =
        "lowerdir=" + base + "/low,upperdir=" + base + "/up,workdir=" + base + "/work";
    if (::mount("none", over.c_str(), "overlay", 0, options.c_str()) != 0) return "";  // a kernel without
    if (sqlite::file_system_of(over) != 0x794C7630) return "no overlay";
    return SqliteCaller(over + "/leases.db").granted("k") ? "" : "not granted in an overlay";
  });
  if (said == "no mounts") GTEST_SKIP() << "the system does not let us mount";
  EXPECT_EQ(said, "");
}

// The pseudo file systems of the kernel exist on every machine, and report their type.
TEST_F(FileSystems, the_kind_is_read_from_the_system) {
  EXPECT_EQ(sqlite::file_system_of("/proc"), 0x9FA0u);
  EXPECT_EQ(sqlite::file_system_of("/no/such/folder"), 0u);
}

}  // namespace
}  // namespace holdfast::test
