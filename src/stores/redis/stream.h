// SPDX-License-Identifier: Apache-2.0
// stream.h - bytes to and from the server, plain or through TLS, each call bounded by an instant.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "stores/redis/config.h"

namespace holdfast::redis {

// All throw Failure, as a rule unavailable: the stream does not know what was asked through it.
class Stream {
 public:
  Stream(const StoreConfig& config, Instant until);

  int fd() const noexcept { return socket_.get(); }

  // Returns when the system has taken all of it.
  void send(std::string_view bytes, Instant until);

  // What has come, at least one byte.  Valid until the next call.
  std::string_view receive(Instant until);
  // What has come already; may be nothing.
  std::string_view take();

 private:
  void shake_hands(Instant until);
  void send_plain(std::string_view bytes, Instant until);
  std::string_view receive_plain(int flags);  // empty: nothing has come
  std::string_view opened(std::string_view received);

  const StoreConfig& config_;
  Fd socket_;
  std::unique_ptr<Tls> tls_;
  std::string sealed_, plain_;  // of TLS, kept for their memory
  std::array<char, 16384> buffer_;
  bool heard_ = false;  // anything
};

}  // namespace holdfast::redis
