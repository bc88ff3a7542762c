// SPDX-License-Identifier: Apache-2.0
// The executable specification: what every store must answer, in the plainest words.
#include "holdfast/memory.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "base/fd.h"
#include "base/random.h"
#include "base/wall_clock.h"

namespace holdfast::memory {
namespace {

constexpr Micros without_end = Micros::max();

Micros later(Micros now, Millis by) { return by == never ? without_end : now + by; }

struct Place {
  std::string client;
  Micros until;
};

struct Row {
  std::string holder;  // empty: released
  Token token{};
  Micros until{};
  Micros since{};
  std::string note;
  bool detached = false;
  std::deque<Place> queue;
};

Micros boot_now() { return std::chrono::floor<Micros>(BootClock::now().time_since_epoch()); }

}  // namespace

class Database {
 public:
  explicit Database(Clocks clocks) : clocks_(std::move(clocks)) {}

  Reply apply(const Request& request, const std::string& client);
  Page list(const Query& query);
  void on_ring(std::function<void(const std::string&, const std::string&)> ring) { ring_ = std::move(ring); }
  void connect_bell(const std::string& client, int fd) { bells_[client] = fd; }
  void disconnect_bell(const std::string& client) { bells_.erase(client); }
  Micros now() const { return clocks_.expiry(); }
  std::mutex& mutex() { return mutex_; }

 private:
  Reply acquire(Row& row, const Request& request, const std::string& client, Micros now);
  Reply renew(Row& row, const Request& request, Micros now);
  Reply release(Row& row, const Request& request, const std::string& client, Micros now);
  Reply evict(Row& row, const Request& request, Micros now);
  Reply answer(const Row& row, Verdict verdict, Micros now) const;
  void log(const Row& row, const Request& request, const char* event);
  void ring_first(const Row& row, std::string_view key);

  static bool live(const Row& row, Micros now) { return !row.holder.empty() && now < row.until; }
  static bool matches(const Row& row, const Request& r, Micros now) {
    return live(row, now) && row.holder == r.holder.text && (r.token == no_token || r.token == row.token);
  }
  static void drop_dead_places(Row& row, Micros now) {
    std::erase_if(row.queue, [&](const Place& p) { return p.until <= now; });
  }
  static bool leave_queue(Row& row, const std::string& client) {
    return std::erase_if(row.queue, [&](const Place& p) { return p.client == client; }) != 0;
  }

  const Clocks clocks_;
  std::mutex mutex_;
  std::map<std::string, Row, std::less<>> rows_;
  std::vector<LogRow> log_;
  std::map<std::string, int> bells_;
  std::function<void(const std::string&, const std::string&)> ring_;
};

Reply Database::answer(const Row& row, Verdict verdict, Micros now) const {
  Reply reply{.verdict = verdict, .token = row.token, .holder = row.holder, .now = StoreTime{now.count()}};
  if (live(row, now)) {
    reply.remaining =
        row.until == without_end ? never : std::max(std::chrono::floor<Millis>(row.until - now), Millis(1));
  }
  return reply;
}

Reply Database::apply(const Request& request, const std::string& client) {
  const Micros now = clocks_.expiry();
  auto it = rows_.find(request.key.text);
  if (it == rows_.end()) {
    if (request.verb != Verb::acquire) return {.verdict = Verdict::lost, .now = StoreTime{now.count()}};
    it = rows_.emplace(std::string(request.key.text), Row{}).first;
  }
  Row& row = it->second;
  switch (request.verb) {
    case Verb::acquire: return acquire(row, request, client, now);
    case Verb::renew: return renew(row, request, now);
    case Verb::release: return release(row, request, client, now);
    case Verb::evict: return evict(row, request, now);
  }
  return {};
}

Reply Database::acquire(Row& row, const Request& r, const std::string& client, Micros now) {
  drop_dead_places(row, now);
  if (live(row, now) && row.holder == r.holder.text) {
    row.until = std::max(row.until, later(now, r.ttl));
    return answer(row, Verdict::granted, now);
  }
  const bool first = row.queue.empty() || row.queue.front().client == client;
  if (live(row, now) || !first) {
    auto mine =
        std::find_if(row.queue.begin(), row.queue.end(), [&](const Place& p) { return p.client == client; });
    if (r.place > Millis::zero()) {
      if (mine == row.queue.end()) mine = row.queue.insert(row.queue.end(), {client, {}});
      mine->until = now + r.place;
    }
    Reply reply = answer(row, Verdict::busy, now);
    reply.ahead = static_cast<std::uint32_t>(mine - row.queue.begin());
    if (!live(row, now)) {
      reply.holder.clear();
      reply.remaining = std::max(std::chrono::floor<Millis>(row.queue.front().until - now), Millis(1));
    }
    return reply;
  }
  if (!row.holder.empty() && row.holder != r.holder.text) log(row, r, "taken-over");
  leave_queue(row, client);
  row.holder = r.holder.text;
  row.token =
      std::max(Token{number(row.token) + 1}, Token{static_cast<std::uint64_t>(clocks_.wall().count())});
  row.until = later(now, r.ttl);
  row.since = clocks_.wall();
  row.note = r.note;
  row.detached = r.detached;
  return answer(row, Verdict::granted, now);
}

Reply Database::renew(Row& row, const Request& r, Micros now) {
  if (!matches(row, r, now)) return answer(row, Verdict::lost, now);
  if (row.until != without_end)
    row.until = r.extend ? later(row.until, r.ttl) : std::max(row.until, later(now, r.ttl));
  return answer(row, Verdict::granted, now);
}

Reply Database::release(Row& row, const Request& r, const std::string& client, Micros now) {
  drop_dead_places(row, now);
  const bool was_first = !row.queue.empty() && row.queue.front().client == client;
  const bool left = r.place > Millis::zero() && leave_queue(row, client);
  if (!matches(row, r, now)) {
    const Reply reply = answer(row, Verdict::lost, now);
    if (left && was_first && !live(row, now)) ring_first(row, r.key.text);  // a free key waits for its next
    return reply;
  }
  row.holder.clear();
  ring_first(row, r.key.text);
  return answer(row, Verdict::released, now);
}

Reply Database::evict(Row& row, const Request& r, Micros now) {
  if (!live(row, now) || row.token != r.token) return answer(row, Verdict::lost, now);
  log(row, r, "broken");
  row.holder.clear();
  drop_dead_places(row, now);
  ring_first(row, r.key.text);
  return answer(row, Verdict::released, now);
}

void Database::log(const Row& row, const Request& r, const char* event) {
  log_.push_back({clocks_.wall(), std::string(r.key.text), event, row.holder, row.token,
                  std::string(r.holder.text), r.verb == Verb::evict ? std::string(r.note) : std::string()});
}

void Database::ring_first(const Row& row, std::string_view key) {
  if (row.queue.empty()) return;
  const std::string& client = row.queue.front().client;
  if (ring_) return ring_(client, std::string(key));
  if (const auto bell = bells_.find(client); bell != bells_.end()) eventfd_write(bell->second, 1);
}

Page Database::list(const Query& q) {
  const Micros now = clocks_.expiry();
  Page page;
  const auto wanted = [&](std::string_view key) {
    return q.exact ? key == q.prefix : key.starts_with(q.prefix);
  };
  if (q.what == Query::What::log) {
    for (auto it = log_.rbegin(); it != log_.rend() && page.log.size() < q.limit; ++it) {
      if (wanted(it->key)) page.log.push_back(*it);
    }
    return page;
  }
  for (auto& [key, row] : rows_) {
    if (!wanted(key) || key <= q.after) continue;
    drop_dead_places(row, now);
    if (q.what == Query::What::places) {
      for (const Place& p : row.queue)
        page.places.push_back({key, p.client, std::chrono::ceil<Millis>(p.until - now)});
      continue;
    }
    if (row.token == no_token) continue;  // only asked about, never granted
    const Reply r = answer(row, Verdict::busy, now);
    page.leases.push_back({key, row.holder, row.token, r.remaining, row.since, row.note, row.detached,
                           static_cast<std::uint32_t>(row.queue.size())});
    if (page.leases.size() == q.limit) break;
  }
  return page;
}

namespace {

class EventBell final : public Bell {
 public:
  EventBell(std::shared_ptr<Database> database, std::string client)
      : database_(std::move(database)),
        client_(std::move(client)),
        fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    const std::lock_guard lock(database_->mutex());
    database_->connect_bell(client_, fd_.get());
  }
  ~EventBell() override {
    const std::lock_guard lock(database_->mutex());
    database_->disconnect_bell(client_);
  }
  int fd() const noexcept override { return fd_.get(); }
  Result<std::vector<std::string>> rung() override {
    eventfd_t count = 0;
    eventfd_read(fd_.get(), &count);
    return std::vector<std::string>{};
  }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
  const Fd fd_;
};

class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<Database> database, std::string client)
      : database_(std::move(database)), client_(std::move(client)) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    const std::lock_guard lock(database_->mutex());
    if (database_->now() > until.time_since_epoch())
      return Error{Errc::unavailable, "the request came too late"};
    for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = database_->apply(requests[i], client_);
    return ok();
  }
  Result<Page> list(const Query& query, Instant) override {
    const std::lock_guard lock(database_->mutex());
    return database_->list(query);
  }
  Result<Traits> examine(Instant) override {
    return Traits{
        .name = "memory", .push = true, .grade = 'D', .findings = {"one process only: nothing outlives it"}};
  }
  std::unique_ptr<Bell> bell() override { return std::make_unique<EventBell>(database_, client_); }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
};

class MemoryOrigin final : public Origin {
 public:
  explicit MemoryOrigin(std::shared_ptr<Database> database)
      : database_(std::move(database)), client_(random_hex(16)) {}

  Result<std::unique_ptr<Store>> connect(Instant) override {
    return std::unique_ptr<Store>(std::make_unique<MemoryStore>(database_, client_));
  }
  Result<std::shared_ptr<Origin>> in(std::string_view) override {
    return Error{Errc::invalid, "memory: has no tables; open another one instead"};
  }
  std::string name() const override { return "memory:"; }
  const std::string& client() const noexcept override { return client_; }

 private:
  const std::shared_ptr<Database> database_;
  const std::string client_;
};

}  // namespace

std::shared_ptr<Database> make_database() { return make_database({boot_now, wall_now}); }

std::shared_ptr<Database> make_database(Clocks clocks) {
  return std::make_shared<Database>(std::move(clocks));
}

void on_ring(Database& database, std::function<void(const std::string&, const std::string&)> ring) {
  database.on_ring(std::move(ring));
}

std::shared_ptr<Origin> origin(std::shared_ptr<Database> database) {
  return std::make_shared<MemoryOrigin>(std::move(database));
}

}  // namespace holdfast::memory
