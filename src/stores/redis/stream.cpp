// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "stores/redis/socket.h"

namespace holdfast::redis {
namespace {

[[noreturn]] void broken(const Site& site, const std::string& why) {
  raise({Errc::unavailable, "the connection to " + printable(site.place) + " " + why});
}

}  // namespace

Stream::Stream(const Site& site, Instant until) : site_(site), socket_(connect_socket(site.options, until)) {
  if (site.tls) shake_hands(until);
}

void Stream::shake_hands(Instant until) {
  tls_ = std::make_unique<Tls>(*site_.tls, site_.options.host);
  std::string_view received;
  while (true) {
    sealed_.clear();
    const bool done = tls_->shake_hands(received, sealed_);
    if (!sealed_.empty()) send_plain(sealed_, until);
    if (done) return;
    if (!wait_for(fd(), POLLIN, until)) broken(site_, "brought no greeting in the time that this call had; does it speak TLS there?");
    received = receive_plain();
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
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd(), POLLOUT, until)) broken(site_, "takes nothing more in the time that this call had");
    } else if (errno != EINTR) {
      broken(site_, std::string("broke: ") + std::strerror(errno));
    }
  }
}

std::string_view Stream::receive(Instant until) {
  while (true) {
    if (!wait_for(fd(), POLLIN, until)) broken(site_, "brought no answer in the time that this call had");
    if (const std::string_view bytes = take(); !bytes.empty()) return bytes;
  }
}

std::string_view Stream::take() { return tls_ ? opened(receive_plain()) : receive_plain(); }

std::string_view Stream::opened(std::string_view received) {
  plain_.clear();
  if (!received.empty() && !tls_->decrypt(received, plain_) && plain_.empty())
    broken(site_, "was closed by the server");
  return plain_;
}

std::string_view Stream::receive_plain() {
  while (true) {
    const ssize_t count = ::recv(fd(), buffer_.data(), buffer_.size(), 0);
    if (count > 0) return {buffer_.data(), static_cast<std::size_t>(count)};
    if (count == 0) broken(site_, "was closed by the server");
    if (errno == EAGAIN) return {};
    if (errno != EINTR) broken(site_, std::string("broke: ") + std::strerror(errno));
  }
}

}  // namespace holdfast::redis
