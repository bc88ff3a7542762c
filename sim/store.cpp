// SPDX-License-Identifier: Apache-2.0
#include "sim/store.h"

#include <charconv>

#include "sim/engine.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis one_purge = 30s;

// As in Server::text_of.
int key_of(std::string_view text) { return text.starts_with('k') ? text[1] - '0' : another_key; }

// Each acquisition is numbered by its note.
AttemptId attempt_in(std::string_view note) {
  AttemptId id = no_attempt;
  std::from_chars(note.data(), note.data() + note.size(), id);
  return id;
}

class SimListener final : public StoreListener {
 public:
  explicit SimListener(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {
    mailbox_->open(readable_);
  }
  ~SimListener() override { mailbox_->close(); }
  int fd() const noexcept override { return readable_.number(); }
  Result<std::vector<std::string>> ready() override {
    const auto keys = mailbox_->take();
    return std::vector<std::string>(keys.begin(), keys.end());
  }

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  Descriptor readable_;
};

}  // namespace

// One connection: knows how far the store's clock is from its own, so that requests can say until when they
// are valid.
class SimConnection final : public StoreConnection {
 public:
  SimConnection(SimStore& store, core::StoreOffset offset) : store_(store), offset_(offset) {}

  Status apply(std::span<const Request> requests, std::span<Reply> replies, Instant until) override {
    Letter letter;
    const Instant sent = BootClock::now();
    for (const Request& request : requests) letter.messages.push_back(message(request, until, sent));
    auto answer = store_.ask(std::move(letter), until);
    if (!answer) return std::move(answer).error();
    offset_.learn(sent, BootClock::now(), answer->now);
    std::move(answer->replies.begin(), answer->replies.end(), replies.begin());
    return Status{};
  }
  Result<Page> list(const Query& query, Instant until) override {
    auto answer = store_.ask(
        {.question = Question{query.what, std::string(query.prefix), query.exact, query.limit}}, until);
    if (!answer) return std::move(answer).error();
    return std::move(answer->page);
  }
  Result<Traits> examine(Instant until) override {
    if (auto answer = store_.ask({}, until); !answer) return std::move(answer).error();
    return Traits{.name = "sim", .push = true, .grade = Grade::A};
  }
  Result<std::unique_ptr<StoreListener>> listener(Instant) override {
    return std::unique_ptr<StoreListener>(std::make_unique<SimListener>(store_.mailbox_));
  }

 private:
  Message message(const Request& request, Instant until, Instant sent) {
    Ledger& ledger = store_.ledger_;
    Message m{.verb = request.verb,
              .key = key_of(request.key.text),
              .owner = std::string(request.owner.text),
              .token = request.token,
              .ttl = request.ttl,
              .place = request.place,
              .longest_place = request.longest_place,
              .extend = request.extend,
              .detached = request.detached};
    if (m.key == another_key) {
      m.lock = request.key.text;
      m.void_at = offset_.at_least(until);
      return m;
    }
    if (m.verb == Verb::acquire) {
      m.attempt_id = attempt_in(request.note);
      m.void_at = offset_.at_least(until);
      ledger.sent(m.attempt_id, m.owner, m.void_at);
    } else {
      m.attempt_id = ledger.attempt_of(m.owner);
      if (m.verb == Verb::release) ledger.release_sent(m.attempt_id, m.key, m.token);
    }
    store_.watcher_->sent(m, sent, until);
    return m;
  }

  SimStore& store_;
  core::StoreOffset offset_;
};

class SimAdmin final : public StoreAdmin {
 public:
  explicit SimAdmin(SimStore& store) : store_(store) {}
  Result<std::vector<std::string>> plan(Instant) override { return std::vector<std::string>{}; }
  Result<std::vector<std::string>> init(Instant) override { return std::vector<std::string>{}; }
  std::string statements() const override { return {}; }
  Result<Purged> purge(const Purge& what, Instant until) override {
    const auto answer =
        store_.ask({.purge = what}, std::min(until, clamped_add(BootClock::now(), one_purge)));
    if (!answer) return answer.error();
    return answer->purged;
  }

 private:
  SimStore& store_;
};

// A connection asks the store for its time first.
Result<std::unique_ptr<StoreConnection>> SimStore::connect(Instant until) {
  const Instant sent = BootClock::now();
  watcher_->connecting(sent);
  const auto answer = ask({}, until);
  if (!answer) return Error{Errc::unavailable, answer.error().detail};
  core::StoreOffset offset;
  offset.learn(sent, BootClock::now(), answer->now);
  return std::unique_ptr<StoreConnection>(std::make_unique<SimConnection>(*this, offset));
}

std::unique_ptr<StoreAdmin> SimStore::admin() { return std::make_unique<SimAdmin>(*this); }

Result<std::unique_ptr<JobEngine>> SimStore::jobs(Instant until) {
  if (const auto answer = ask({}, until); !answer) return Error{Errc::unavailable, answer.error().detail};
  return std::unique_ptr<JobEngine>(std::make_unique<SimEngine>(*this));
}

Result<std::shared_ptr<Store>> SimStore::in(std::string_view) {
  return Error{Errc::invalid, "the simulated store has one table"};
}

Result<Answer> SimStore::ask(Letter letter, Instant until) {
  if (watcher_->dead()) return Error{Errc::unavailable, "killed"};
  struct Call {
    std::shared_ptr<Thread> thread;
    std::optional<Result<Answer>> result = {};
    void end(Result<Answer> with) {
      if (result) return;
      result = std::move(with);
      Threads::here().wake(thread);
    }
  };
  const auto call = std::make_shared<Call>(Call{Threads::here().current()});
  network_.carry(process_, std::move(letter),
                 {.answered = [call](const Answer& answer) { call->end(answer); },
                  .failed =
                      [call](Errc code) {
                        call->end(Error{code, "no reply"});
                      }});
  while (!call->result) {
    if (BootClock::now() >= until)
      call->result = Result<Answer>(Error{Errc::in_doubt, "no reply in time"});
    else
      Threads::here().wait(until);
  }
  return *std::move(call->result);
}

}  // namespace holdfast::sim
