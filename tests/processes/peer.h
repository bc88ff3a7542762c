// SPDX-License-Identifier: Apache-2.0
// peer.h - one client of a store in a process of its own.
#pragma once
#include <memory>
#include <string>

#include "base/process.h"
#include "base/random.h"
#include "client/connection.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"
#include "tests/support/await.h"

namespace holdfast::test {

class Peer {
 public:
  explicit Peer(const std::string& url)
      : store_(try_store(url).value()),
        connection_(store_),
        name_(owner_name(store_->client() + random_hex(16))) {
    (void)connection_.examine(soon()).value();
  }

  const std::string& name() const { return name_; }
  const std::string& client() const { return store_->client(); }
  int proof_of_life() const { return store_->proof_of_life(); }

  Result<Reply> ask(const Request& request, Instant until = soon()) {
    Reply reply;
    const Status status = connection_.apply({&request, 1}, {&reply, 1}, until);
    if (!status) return status.error();
    return reply;
  }

 private:
  const std::shared_ptr<Store> store_;
  Connection connection_;
  const std::string name_;
};

inline std::string text(const Result<Reply>& reply) {
  if (!reply) return "error " + reply.error().detail;
  static constexpr const char* verdicts[] = {"granted", "released", "busy", "lost"};
  return std::string(verdicts[static_cast<int>(reply->verdict)]) + " " +
         std::to_string(to_number(reply->token));
}

}  // namespace holdfast::test
