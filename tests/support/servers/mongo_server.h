// SPDX-License-Identifier: Apache-2.0
// mongo_server.h - a real MongoDB for one test: its engine, as engines/fetch.sh fetched it.
#pragma once
#include <memory>
#include <string>

#include "tests/support/scratch.h"
#include "tests/support/servers/guarded.h"
#include "tests/support/servers/mongo_address.h"

namespace holdfast::test {

struct MongoOptions {
  int port = 0;  // zero: a free one
};

// A standalone on a loopback port, without passwords, TLS and transactions, which this engine does not have.
// Every function throws std::runtime_error with the end of the server's log.  When a function returns, it has
// happened.
class MongoServer : public MongoAddress {
 public:
  explicit MongoServer(MongoOptions options = {});
  ~MongoServer();

  int port() const noexcept { return port_; }
  const std::string& folder() const noexcept { return folder_.path(); }
  std::string log() const { return folder_.path() + "/log"; }
  int pid() const noexcept { return running_ ? running_->pid() : -1; }

  void stop();   // SIGTERM: in order
  void kill();   // SIGKILL
  void start();  // again, on the same port and data; it has recovered and answers
  void pause();  // SIGSTOP: connections stay, nothing is answered
  void resume();

 private:
  bool launch();  // false: the port was taken

  const MongoOptions options_;
  const Scratch folder_;
  int port_ = 0;
  std::unique_ptr<Guarded> running_;
};

// Empty, or what to do to have a MongoServer.
std::string mongodb_missing();

}  // namespace holdfast::test
