// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/socket.h"
#include "base/text.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

// How long a receive may block: that saves the poll() before it, and is an error of so much at most.
constexpr Millis one_block = 20ms;

[[noreturn]] void broken(const StoreConfig& config, const std::string& why) {
  throw_failure({Errc::unavailable, "the connection to " + printable(config.place) + " " + why});
}

Fd connect_to(const StoreConfig& config, Instant until) {
  const Options& options = config.options;
  try {
    return options.socket.empty() ? connect_tcp(options.host, options.port, until)
                                  : connect_unix(options.socket, until);
  } catch (const Failure& failure) {
    throw_failure({failure.error().code, "cannot connect to " + config.name + ": " + failure.error().detail});
  }
}

}  // namespace

Stream::Stream(const StoreConfig& config, Instant until)
    : config_(config), socket_(connect_to(config, until)) {
  block_briefly(fd(), one_block);
  if (config.tls) shake_hands(until);
}

void Stream::shake_hands(Instant until) {
  tls_ = std::make_unique<Tls>(*config_.tls, config_.options.host);
  std::string_view received;
  while (true) {
    sealed_.clear();
    const bool done = tls_->shake_hands(received, sealed_);
    if (!sealed_.empty()) send_plain(sealed_, until);
    if (done) return;
    if (!await(fd(), POLLIN, until))
      broken(config_, "timed out in the TLS handshake; does the server speak TLS on this port?");
    received = receive_plain(MSG_DONTWAIT);
  }
}

void Stream::send(std::string_view bytes, Instant until) {
  if (!tls_) return send_plain(bytes, until);
  sealed_.clear();
  tls_->encrypt(bytes, sealed_);
  send_plain(sealed_, until);
}

void Stream::send_plain(std::string_view bytes, Instant until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!await(fd(), POLLOUT, until)) broken(config_, "timed out sending the request");
    } else if (errno != EINTR) {
      broken(config_, std::string("failed: ") + std::strerror(errno));
    }
  }
}

std::string_view Stream::receive(Instant until) {
  while (true) {
    const bool may_block = BootClock::now() + one_block < until;
    if (!may_block && !await(fd(), POLLIN, until)) broken(config_, "timed out waiting for the reply");
    const std::string_view received = receive_plain(may_block ? 0 : MSG_DONTWAIT);
    if (const std::string_view bytes = tls_ ? opened(received) : received; !bytes.empty()) return bytes;
  }
}

std::string_view Stream::take() {
  const std::string_view received = receive_plain(MSG_DONTWAIT);
  return tls_ ? opened(received) : received;
}

std::string_view Stream::opened(std::string_view received) {
  plain_.clear();
  if (!received.empty() && !tls_->decrypt(received, plain_) && plain_.empty())
    broken(config_, "was closed by the server");
  return plain_;
}

std::string_view Stream::receive_plain(int flags) {
  const ssize_t count = ::recv(fd(), buffer_.data(), buffer_.size(), flags);
  if (count > 0) {
    heard_ = true;
    return {buffer_.data(), static_cast<std::size_t>(count)};
  }
  // Whoever is interrupted looks at the clock before the next attempt.
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  // A server of another kind hangs up, and did not even read all that we said.
  const std::string why =
      count == 0 ? "was closed by the server" : std::string("failed: ") + std::strerror(errno);
  broken(config_, why + (heard_ ? "" : " before its first reply; is it a Redis server?"));
}

}  // namespace holdfast::redis
