// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/connection.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "stores/sqlite/path.h"

namespace holdfast::sqlite {
namespace {

// -- a forked child of a process that has the file open

// Where SQLite keeps the two locks (os_unix.c, sqlite.org/fileformat2.html#the_lock_byte_page).
constexpr off_t shm_in_use = 128;
constexpr off_t file_in_use = 0x40000002;
constexpr off_t file_in_use_length = 510;

// Another thread that is just opening the file has the descriptor a moment before the lock.
constexpr int patience_ms = 20;

std::vector<int> descriptors_of(const std::string& path) {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  std::array<char, PATH_MAX> target;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const ssize_t length = ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
    if (length > 0 && path == std::string_view(target.data(), static_cast<std::size_t>(length)))
      found.push_back(std::atoi(entry->d_name));
  }
  return found;
}

// The kernel lists the locks of a descriptor to those who own them.
bool has_lock(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("lock:")) return true;
  }
  return false;
}

bool has_lock_soon(int fd) {
  for (int waited = 0; !has_lock(fd); ++waited) {
    if (waited == patience_ms) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

void share(int fd, off_t start, off_t length) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  ::fcntl(fd, F_SETLK, &lock);
}

// SQLite remembers per file what this process has locked, in memory that a child inherits; the locks
// themselves are not inherited.  A child that opens the file again is believed to have the two locks that
// say "somebody uses this file" and has neither.  When its parent goes, the next process to open the file
// finds it deserted and starts its shared memory anew, under the child's feet: SIGBUS.
//
// So the child takes those two locks itself, on the descriptors that it has inherited.  Does nothing in a
// process that has them, or does not have the file open.  A child that was forked in the middle of another
// thread's transaction may still find the file busy for ever; it should exec, or open before the others.
void own_inherited_locks(const std::string& path) {
  const std::vector<int> shm = descriptors_of(path + "-shm");
  if (shm.empty() || has_lock_soon(shm.front())) return;
  share(shm.front(), shm_in_use, 1);
  const std::vector<int> file = descriptors_of(path);
  if (!file.empty()) share(file.front(), file_in_use, file_in_use_length);
}

// -- transactions

// After some failures SQLite has done so by itself.
void roll_back(Connection& connection) noexcept {
  if (connection.in_transaction())
    sqlite3_exec(connection.raw(), text(Sql::rollback).data(), nullptr, nullptr, nullptr);
}

}  // namespace

bool Cursor::next(During during) {
  // A statement that writes outside a transaction does all in one step, and may fail in its commit.  Asked
  // before: after some failures SQLite has left a transaction by itself.
  const bool alone =
      during != During::begin && !connection_.in_transaction() && sqlite3_stmt_readonly(statement_) == 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  connection_.fail(alone ? During::commit : during);
}

int Cursor::finish(During during) {
  while (next(during)) {
  }
  return sqlite3_changes(connection_.raw());
}

void Cursor::refuse(const std::string& why) const {
  throw_failure({Errc::refused, connection_.path() + why + "; move it away while no process uses it"});
}

Connection::Connection(std::string path, Tables tables, Machine machine)
    : path_(std::move(path)),
      tables_(std::move(tables)),
      machine_(std::move(machine)),
      jitter_(random_bits()) {}

void Connection::open() {
  own_inherited_locks(path_);
  sqlite3* db = nullptr;
  constexpr int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path_.c_str(), &db, flags, nullptr);
  db_.reset(db);
  if (code != SQLITE_OK) fail(During::work);
  // Whoever closes last must not write to the file, be it ours or not.
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  int keep = 1;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
  distrust();
  sqlite3_wal_autocheckpoint(db, 0);
  sqlite3_busy_handler(
      db,
      [](void* self, int times) {
        return static_cast<int>(static_cast<Connection*>(self)->stand_back(times));
      },
      this);
  sqlite3_wal_hook(
      db,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Connection*>(self)->wal_pages_ = pages;
        ++static_cast<Connection*>(self)->commits_;
        return SQLITE_OK;
      },
      this);
  add_functions();
}

// The file may have been written by anybody: what our own statements do not need is switched off.
void Connection::distrust() {
  sqlite3_db_config(raw(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  for (const int feature :
       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
        SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION}) {
    sqlite3_db_config(raw(), feature, 0, nullptr);
  }
  constexpr struct {
    int which, most;
  } limits[] = {{SQLITE_LIMIT_LENGTH, 1 << 20},     {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                {SQLITE_LIMIT_EXPR_DEPTH, 100},     {SQLITE_LIMIT_COMPOUND_SELECT, 10},
                {SQLITE_LIMIT_VDBE_OP, 25'000},     {SQLITE_LIMIT_FUNCTION_ARG, 16},
                {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
                {SQLITE_LIMIT_VARIABLE_NUMBER, 32}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (const auto& limit : limits) sqlite3_limit(raw(), limit.which, limit.most);
  // A damaged tree may go round in circles.
  constexpr int steps = 100'000;
  sqlite3_progress_handler(
      raw(), steps,
      [](void* self) { return static_cast<int>(BootClock::now() >= static_cast<Connection*>(self)->end_); },
      this);
}

void Connection::add_functions() {
  const auto add = [this](const char* name, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
    constexpr int any_arguments = -1, flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    sqlite3_create_function(raw(), name, any_arguments, flags, this, function, nullptr, nullptr);
  };
  static constexpr auto of = [](sqlite3_context* context) {
    return static_cast<Connection*>(sqlite3_user_data(context));
  };
  add("boottime", [](auto* c, int, auto**) { sqlite3_result_int64(c, of(c)->boottime().count()); });
  add("walltime", [](auto* c, int, auto**) { sqlite3_result_int64(c, of(c)->walltime().count()); });
  add("in_time", [](auto* c, int, auto**) { sqlite3_result_int(c, of(c)->in_time()); });
  add("tell", [](auto* c, int count, auto** values) { of(c)->tell(c, count, values); });
  add("this_boot", [](auto* c, int, auto**) {
    sqlite3_result_text(c, of(c)->machine_.boot_id.c_str(), -1, SQLITE_TRANSIENT);
  });
  add("this_time_namespace", [](auto* c, int, auto**) {
    sqlite3_result_int64(c, static_cast<std::int64_t>(of(c)->machine_.time_namespace));
  });
}

void Connection::tell(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  const auto size = std::min(static_cast<std::size_t>(count), told_.size());
  for (std::size_t i = 0; i < size; ++i) {
    const bool null = sqlite3_value_type(values[i]) == SQLITE_NULL;
    told_[i] = null ? std::nullopt : std::optional(std::int64_t{sqlite3_value_int64(values[i])});
  }
  if (count > 0) sqlite3_result_value(context, values[0]);
}

void Connection::require_time() const {
  if (in_time()) return;
  throw_failure({Errc::unavailable, path_ + ": timed out while another process was writing the file"});
}

Micros Connection::boottime() {
  if (!boottime_) boottime_ = machine_.boottime();
  return *boottime_;
}

Micros Connection::walltime() {
  if (!walltime_) walltime_ = machine_.walltime();
  return *walltime_;
}

sqlite3_stmt* Connection::prepared(Sql which) {
  auto& statement = statements_[static_cast<std::size_t>(which)];
  if (!statement) {
    const std::string sql = tables_.expand(sqlite::text(which));
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(raw(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                                        SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK) fail(During::work);
    statement.reset(made);
  }
  return statement.get();
}

void Connection::run_script(std::string_view sql) {
  const int code = sqlite3_exec(raw(), tables_.expand(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(During::work);
}

std::optional<std::string> Connection::ask(const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(raw(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK) fail(During::work);
  const std::unique_ptr<sqlite3_stmt, Closer> statement(made);
  Cursor cursor(*this, made);
  if (!cursor.next()) return std::nullopt;
  return std::string(cursor.text(0));
}

bool Connection::has_moved() const noexcept {
  int moved = 0;
  sqlite3_file_control(raw(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

// SQLite's own handler backs off to 100 ms and starves a process for seconds; a writer is done in 50 us.
// The lock cannot be waited for, only asked for again, and jitter is what makes turns fair.
bool Connection::stand_back(int times) noexcept {
  const Instant now = BootClock::now();
  if (now >= until_) return false;
  const std::uint64_t most = std::min<std::uint64_t>(100 + 20 * static_cast<std::uint64_t>(times), 500);
  const auto nap = std::min<BootClock::duration>(Micros(20 + static_cast<std::int64_t>(jitter_.below(most))),
                                                 until_ - now);
  const timespec time{.tv_sec = 0, .tv_nsec = nap.count()};
  ppoll(nullptr, 0, &time, nullptr);
  return true;
}

void Connection::fail(During during) const {
  // Its words may quote what is in the file.
  Trouble trouble{sqlite3_extended_errcode(raw()), sqlite3_system_errno(raw()),
                  printable(sqlite3_errmsg(raw()))};
  // After a file that it could not make SQLite tries to read it, and then knows only that there is none.
  const bool why_is_lost = trouble.system_errno == 0 || trouble.system_errno == ENOENT;
  if ((trouble.code & 0xff) == SQLITE_CANTOPEN && why_is_lost)
    trouble.system_errno = obstacle_in(std::filesystem::path(path_).parent_path().string());
  if (is_busy(trouble.code)) throw Busy(to_error(trouble, during, path_));
  throw_failure(to_error(trouble, during, path_));
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
  assert(!connection.in_transaction());
  connection.run(Sql::begin_writing).finish(During::begin);
  if (connection.in_time()) return;
  connection.run(Sql::rollback).finish();
  connection.require_time();
}

Transaction::~Transaction() { roll_back(connection_); }

void Transaction::commit() { connection_.run(Sql::commit).finish(During::commit); }

Snapshot::Snapshot(Connection& connection) : connection_(connection) {
  assert(!connection.in_transaction());
  connection.run(Sql::begin_reading).finish(During::begin);
}

Snapshot::~Snapshot() { roll_back(connection_); }

}  // namespace holdfast::sqlite
