// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace holdfast::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Relay::Relay(std::vector<int> behind, std::chrono::milliseconds delay)
    : behind_(std::move(behind)),
      delay_(delay),
      door_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      end_(::eventfd(0, EFD_CLOEXEC)),
      forget_(::eventfd(0, EFD_CLOEXEC)),
      forgotten_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(door_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(door_.get(), 16) != 0 ||
      ::getsockname(door_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the relay finds no port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Relay::~Relay() {
  (void)::eventfd_write(end_.get(), 1);
  thread_.join();
}

void Relay::forget_connections() {
  (void)::eventfd_write(forget_.get(), 1);
  eventfd_t done = 0;
  (void)::eventfd_read(forgotten_.get(), &done);
}

void Relay::fall_silent() {
  eventfd_t asked = 0;
  (void)::eventfd_read(forget_.get(), &asked);
  for (auto& [fd, end] : ends_) silent_.push_back(std::move(end));
  ends_.clear();
  others_.clear();
  servers_.clear();
  (void)::eventfd_write(forgotten_.get(), 1);
}

void Relay::let_in() {
  Fd client(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(behind_[served_++ % behind_.size()]);
  if (!client || ::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return;
  const int here = client.get(), there = server.get();
  others_[here] = there;
  others_[there] = here;
  servers_.insert(there);
  ends_[here] = std::move(client);
  ends_[there] = std::move(server);
}

bool Relay::pass_on(int from, int to) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::recv(from, buffer.data(), buffer.size(), 0);
  for (ssize_t sent = 0; sent < size;) {
    const ssize_t part =
        ::send(to, buffer.data() + sent, static_cast<std::size_t>(size - sent), MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += part;
  }
  return size > 0;
}

void Relay::drop(int fd) {
  const int other = others_[fd];
  for (const int one : {fd, other}) {
    others_.erase(one);
    servers_.erase(one);
    ends_.erase(one);
  }
}

void Relay::serve() {
  while (true) {
    std::vector<pollfd> watched = {
        {end_.get(), POLLIN, 0}, {door_.get(), POLLIN, 0}, {forget_.get(), POLLIN, 0}};
    for (const auto& [fd, other] : others_) watched.push_back({fd, POLLIN, 0});
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[0].revents != 0) return;
    if (watched[2].revents != 0) fall_silent();
    for (std::size_t i = 3; i < watched.size(); ++i) {
      const int fd = watched[i].fd;
      if (watched[i].revents == 0 || !others_.contains(fd)) continue;
      // The others wait too, because doctor queries them one after the other.
      if (pollfd ended{end_.get(), POLLIN, 0};
          servers_.contains(fd) && ::poll(&ended, 1, static_cast<int>(delay_.count())) > 0)
        return;
      if (!pass_on(fd, others_[fd])) drop(fd);
    }
    if (watched[1].revents != 0) let_in();
  }
}

}  // namespace holdfast::test
