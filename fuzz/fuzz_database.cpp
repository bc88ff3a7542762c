// SPDX-License-Identifier: Apache-2.0
// A database that somebody else wrote.  The first byte says how the rest of the input becomes one:
//
//   F  it is the file
//   W  it is the log beside a real database of ours          J  it is the rollback journal there
//   P  it changes a real one: offset (3 bytes), length (1 byte), bytes; and again
//   S  it is SQL, run on a real one behind our back
//
// Whatever we are asked then, we may refuse, but not crash, hang, or answer with what cannot be.
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/text.h"
#include "fuzz/target.h"
#include "holdfast/spi/store.h"
#include "stores/sqlite/store.h"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;
using fuzz::require;
namespace fs = std::filesystem;

Instant soon() { return BootClock::now() + 5s; }

// The clocks stand still, so that one input does the same each time.
sqlite::Machine machine() {
  return {.boot_id = "a boot",
          .time_namespace = 1,
          .boottime = [] { return Micros(1h); },
          .walltime = [] { return Micros(24h * 365 * 50); }};
}

class Folder {
 public:
  Folder() {
    // In memory where there is such a folder: nothing here has to outlive us.
    std::string name = fs::exists("/dev/shm") ? "/dev/shm/holdfast-fuzz-XXXXXX" : "/tmp/holdfast-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file() const { return path_ + "/leases.db"; }
  void clear() const {
    for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(file() + suffix);
    fs::remove_all(file() + ".d");
  }

 private:
  std::string path_;
};

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK) {
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);        // no other files
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1'100'000);  // a little more than we read
    sqlite3_exec(db, "PRAGMA max_page_count = 1000", nullptr, nullptr, nullptr);
    int turns = 0;
    sqlite3_progress_handler(
        db, 1000, [](void* count) { return static_cast<int>(++*static_cast<int*>(count) > 20); }, &turns);
    sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  }
  sqlite3_close(db);
}

// Two lock tables with all that there can be in them, in the file itself.
std::string real_database(const Folder& folder) {
  const auto store = sqlite::store({.path = folder.file()}, machine()).value();
  for (const auto& client : {store, store->in("jobs").value()}) {
    const auto connection = client->connect(soon()).value();
    for (int i = 0; i < 50; ++i) {
      const std::string key = "key " + std::to_string(i);
      const Request requests[] = {
          {.verb = Verb::acquire, .key = {key}, .owner = {"me"}, .ttl = 1h, .note = "a note"},
          {.verb = Verb::acquire, .key = {key}, .owner = {"you"}, .ttl = 1h, .place = 1h},
      };
      Reply replies[2];
      if (!connection->apply(requests, replies, soon())) std::abort();
      const Request evict{
          .verb = Verb::evict, .key = {key}, .owner = {"op"}, .token = replies[0].token, .note = "why"};
      if (i % 3 == 0 && !connection->apply({&evict, 1}, {replies, 1}, soon())) std::abort();
    }
  }
  run_sql(folder.file(), "PRAGMA wal_checkpoint(TRUNCATE)");
  std::ifstream file(folder.file(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string changed(std::string bytes, std::string_view changes) {
  while (changes.size() > 4) {
    const auto number = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(changes[i]));
    };
    const std::size_t offset = (number(0) << 16 | number(1) << 8 | number(2)) % bytes.size();
    const std::string_view patch = changes.substr(4, number(3));
    bytes.replace(offset, std::min(patch.size(), bytes.size() - offset),
                  patch.substr(0, bytes.size() - offset));
    changes.remove_prefix(4 + patch.size());
  }
  return bytes;
}

void lay_out(const Folder& folder, const std::string& real, char how, std::string_view rest) {
  folder.clear();
  write(folder.file(), how == 'F' ? std::string(rest) : how == 'P' ? changed(real, rest) : real);
  if (how == 'W') write(folder.file() + "-wal", rest);
  if (how == 'J') write(folder.file() + "-journal", rest);
  if (how == 'S') run_sql(folder.file(), std::string(rest));
}

void require_sound(const Error& error) {
  require(error.code == Errc::refused || error.code == Errc::unavailable || error.code == Errc::in_doubt,
          "a bad file is refused, or cannot be used now", to_string(error.code));
  require(printable(error.detail) == error.detail, "an error is fit for a terminal", error.detail);
}

void ask(StoreConnection& connection, const Request& request) {
  Reply reply;
  if (const Status status = connection.apply({&request, 1}, {&reply, 1}, soon()); !status)
    return require_sound(status.error());
  require(reply.remaining >= Millis::zero(), "no time left is zero");
  if (reply.verdict == Verdict::granted && request.verb == Verb::acquire)
    require(to_number(reply.token) > 0 && to_number(reply.token) >> 63 == 0, "a token has 63 bits");
}

void use(Store& store) {
  const auto opened = store.connect(soon());
  if (!opened) return require_sound(opened.error());
  StoreConnection& connection = **opened;
  for (const auto what : {Query::What::leases, Query::What::places, Query::What::log}) {
    const auto page = connection.list({.what = what}, soon());
    if (!page) require_sound(page.error());
    if (page)
      require(page->leases.size() <= 1000 && page->places.size() <= 1000 && page->log.size() <= 1000,
              "a page");
  }
  const std::string name = "host:h pid:1 guid:" + store.client() + "0123456789abcdef";
  for (const char* const key : {"key 1", "key 3", "new"}) {
    for (const std::string& owner : {name, std::string("me")}) {
      ask(connection, {.verb = Verb::acquire, .key = {key}, .owner = {owner}, .ttl = 1s, .place = 1s});
      ask(connection, {.verb = Verb::renew, .key = {key}, .owner = {owner}, .ttl = 1s, .extend = true});
      ask(connection, {.verb = Verb::release, .key = {key}, .owner = {owner}, .place = 1ms});
    }
  }
  if (const auto traits = connection.examine(soon()); !traits) require_sound(traits.error());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const std::string real = real_database(folder);
  if (size == 0) return 0;
  const std::string_view input = fuzz::text_of(data, size);
  lay_out(folder, real, input.front(), input.substr(1));
  const auto store = sqlite::store({.path = folder.file()}, machine()).value();
  use(*store);
  return 0;
}
