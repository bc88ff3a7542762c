// SPDX-License-Identifier: Apache-2.0
// store.h - the store as a simulated process has it: connections that cross the network, and a listener.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/timing.h"
#include "holdfast/spi/store.h"
#include "sim/network.h"
#include "sim/threads.h"

namespace holdfast::sim {

// What the checks want to know of what a process sends.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // The process was killed: what is left of it reaches nobody.
  virtual bool dead() const = 0;
  virtual void connecting(Instant at) = 0;
  // A request of a call with that limit is being sent.
  virtual void sent(const Message& message, Instant at, Instant until) = 0;
};

// The listener of a process, as the network sees it.
class Mailbox {
 public:
  void open(Descriptor& readable) { readable_ = &readable; }
  void close() { readable_ = nullptr; }
  void put(std::string key) {
    if (!readable_) return;
    keys_.insert(std::move(key));
    readable_->set_readable(true);
  }
  std::set<std::string> take() {
    if (readable_) readable_->set_readable(false);
    return std::exchange(keys_, {});
  }

 private:
  Descriptor* readable_ = nullptr;
  std::set<std::string> keys_;
};

class SimStore final : public Store {
 public:
  SimStore(Network& network, Server& server, Ledger& ledger, Timeline::Owner process, std::string client,
           std::shared_ptr<Watcher> watcher)
      : network_(network),
        server_(server),
        ledger_(ledger),
        process_(process),
        client_(std::move(client)),
        watcher_(std::move(watcher)),
        mailbox_(std::make_shared<Mailbox>()) {}

  Result<std::unique_ptr<StoreConnection>> connect(Instant until) override;
  std::unique_ptr<StoreAdmin> admin() override;
  Result<std::unique_ptr<JobEngine>> jobs(Instant until) override;
  Result<std::shared_ptr<Store>> in(std::string_view table) override;
  std::string name() const override { return "the simulated store"; }
  const std::string& client() const noexcept override { return client_; }

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

 private:
  friend class SimConnection;
  friend class SimAdmin;
  friend class SimEngine;
  // One question and its answer.  The thread waits until it is answered, refused, or `until`.
  Result<Answer> ask(Letter letter, Instant until);

  Network& network_;
  Server& server_;
  Ledger& ledger_;
  const Timeline::Owner process_;
  const std::string client_;
  const std::shared_ptr<Watcher> watcher_;
  const std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace holdfast::sim
