// SPDX-License-Identifier: Apache-2.0
// listener.h - a port at which a test answers in place of a server.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "base/fd.h"

namespace holdfast::test {

class Listener {
 public:
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    place_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  const std::string& place() const { return place_; }

  // The next connection; none after close().
  Fd accept() const { return Fd(::accept(socket_.get(), nullptr, nullptr)); }
  void close() const { ::shutdown(socket_.get(), SHUT_RDWR); }

  // The next data from a client; empty when it has disconnected.
  static std::string hear(const Fd& somebody) {
    std::string text(1 << 16, '\0');
    const ssize_t count = ::recv(somebody.get(), text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  static void say(const Fd& somebody, const std::string& text) {
    ::send(somebody.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }

 private:
  const Fd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string place_;
};

}  // namespace holdfast::test
