// SPDX-License-Identifier: Apache-2.0
// redis_server.h - a real Redis for one test.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/servers/certificates.h"
#include "tests/support/servers/guarded.h"

namespace holdfast::test {

// A server that is killed keeps all that it acknowledged.  With `everysec`, which is ours unless said
// otherwise, Redis puts off its writes for up to two seconds while the disk is busy.
inline constexpr const char* written_at_once = "appendfsync always";

struct RedisOptions {
  // Of redis.conf, after ours: `maxmemory 2mb`, `appendonly no`, `aclfile …`, `replicaof 127.0.0.1 PORT`.
  // Ours keep what was acknowledged across stop() and start(): appendonly yes.
  std::vector<std::string> lines{};
  std::string password{};  // requirepass; the harness uses it too
  // The harness's own user, if an aclfile leaves the default one without rights.
  std::string user{};
  std::optional<Certificate> tls{};  // also listens with TLS, on a port of its own
  int port = 0;                      // zero: a free one
  bool sentinel = false;             // one that only watches over others
};

// Listens on a loopback port and on a Unix socket, with its data in a folder of its own.  Every function
// throws std::runtime_error with the end of the server's log.  When a function returns, it has happened.
class RedisServer {
 public:
  explicit RedisServer(RedisOptions options = {});
  ~RedisServer();

  std::string url() const;      // redis://[:PASSWORD@]127.0.0.1:PORT
  std::string tls_url() const;  // rediss://[:PASSWORD@]localhost:PORT.  REQUIRES: options.tls
  int port() const noexcept { return port_; }
  int tls_port() const noexcept { return tls_port_; }
  std::string socket() const { return folder_.path() + "/redis.sock"; }
  const std::string& folder() const noexcept { return folder_.path(); }
  int pid() const noexcept { return running_ ? running_->pid() : -1; }
  std::string log() const { return folder_.path() + "/log"; }

  void stop();   // SIGTERM
  void kill();   // SIGKILL
  void start();  // again, on the same ports and data; it has loaded them and answers
  void pause();  // SIGSTOP: connections stay, nothing is answered
  void resume();

  // The answer as text: a number as digits, nil as "(nil)", an error as "(error) …", an array as its
  // elements, one per line.
  std::string command(const std::vector<std::string>& words) const;

 private:
  bool launch();  // false: the port was taken
  void write_configuration() const;

  const RedisOptions options_;
  const Scratch folder_;
  int port_ = 0, tls_port_ = 0;
  std::unique_ptr<Guarded> running_;
};

// Empty, or what to install.
std::string redis_missing();

}  // namespace holdfast::test
