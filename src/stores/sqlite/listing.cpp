// SPDX-License-Identifier: Apache-2.0
// What the store tells people: its rows, and what it thinks of the place it lies in.
#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>

#include "stores/sqlite/store.h"

namespace holdfast::sqlite {
namespace {

bool matches(const Query& query, std::string_view key) {
  return query.exact ? key == query.prefix : key.starts_with(query.prefix);
}

struct FileSystem {
  long magic;
  const char* name;
};
// Where locks or shared memory do not reach every process that sees the file (linux/magic.h and others).
constexpr std::array<FileSystem, 10> remote = {{{0x6969, "NFS"},
                                                {0x517B, "SMB"},
                                                {0xFF534D42, "SMB"},
                                                {0xFE534D42, "SMB"},
                                                {0x01021997, "9p"},
                                                {0x65735546, "FUSE"},
                                                {0x00C36400, "Ceph"},
                                                {0x0BD00BD0, "Lustre"},
                                                {0x47504653, "GPFS"},
                                                {0x786F4256, "vboxsf"}}};

const char* remote_file_system(const std::string& path) {
  struct statfs at {};
  if (::statfs(path.c_str(), &at) != 0) return nullptr;
  for (const FileSystem& system : remote) {
    if (static_cast<std::uint32_t>(at.f_type) == static_cast<std::uint32_t>(system.magic)) return system.name;
  }
  return nullptr;
}

}  // namespace

Result<Page> SqliteStore::list(const Query& query, Instant until) {
  Page page;
  try {
    start(until);
    switch (query.what) {
      case Query::What::leases: list_leases(query, page); break;
      case Query::What::places: list_places(query, page); break;
      case Query::What::log: list_log(query, page); break;
    }
  } catch (const Failure& failure) {
    return failure.error();
  }
  return page;
}

void SqliteStore::list_leases(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::leases, query.prefix, query.after);
  while (page.leases.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(0))) break;  // in the order of keys there is none behind it
    const Row row = read_row(cursor, 1);
    const bool held = row.live(connection_.boottime()) && !decision_.is_dead(row);
    page.leases.push_back({.key = std::string(cursor.text(0)),
                           .holder = row.holder,
                           .token = row.token,
                           .remaining = held ? remaining(row.end, connection_.boottime()) : Millis::zero(),
                           .since = Micros(cursor.number(5)),
                           .note = std::string(cursor.text(6)),
                           .detached = cursor.number(7) != 0,
                           .waiting = static_cast<std::uint32_t>(cursor.number(8))});
  }
}

void SqliteStore::list_places(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::places, query.prefix, query.after);
  while (page.places.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(0))) break;
    page.places.push_back({.key = std::string(cursor.text(0)),
                           .client = std::string(cursor.text(1)),
                           .holder = std::string(cursor.text(2)),
                           .remaining = remaining(Micros(cursor.number(3)), connection_.boottime())});
  }
}

void SqliteStore::list_log(const Query& query, Page& page) {
  Cursor cursor = connection_.run(Sql::history);
  while (page.log.size() < query.limit && cursor.next()) {
    if (!matches(query, cursor.text(1))) continue;
    page.log.push_back({.at = Micros(cursor.number(0)),
                        .key = std::string(cursor.text(1)),
                        .event = std::string(cursor.text(2)),
                        .holder = std::string(cursor.text(3)),
                        .token = Token{static_cast<std::uint64_t>(cursor.number(4))},
                        .by = std::string(cursor.text(5)),
                        .reason = std::string(cursor.text(6))});
  }
}

Result<Traits> SqliteStore::examine(Instant until) {
  Traits traits;
  traits.name = "sqlite";
  traits.resolution = Millis(1);
  traits.push = true;
  try {
    start(until);
    (void)rows_.look({"examined"});  // the file can be read
  } catch (const Failure& failure) {
    return failure.error();
  }
  if (const char* system = remote_file_system(site_->path)) {
    traits.grade = 'D';
    traits.findings.push_back(site_->path + " lies on " + system +
                              ", where locks do not reach every process; keep it on a local disk");
  }
  struct stat file {};
  if (::stat(site_->path.c_str(), &file) == 0 && (file.st_mode & S_IWOTH) != 0) {
    traits.findings.push_back(site_->path + " may be written by anybody; chmod o-w");
  }
  return traits;
}

}  // namespace holdfast::sqlite
