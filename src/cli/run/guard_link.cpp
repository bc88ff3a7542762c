// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guard_link.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast::cli {
namespace {

// Room for one descriptor beside a packet.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void attach(msghdr& message, Control& control, int fd) {
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

Fd attached(msghdr& message) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return Fd();
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

}  // namespace

bool Packets::send(std::span<const std::byte> packet, int passed_fd, bool patiently) const noexcept {
  iovec vector{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  Control control{};
  if (passed_fd >= 0) attach(message, control, passed_fd);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd(), &message, MSG_NOSIGNAL | (patiently ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool Packets::receive(std::span<std::byte> packet) noexcept {
  iovec vector{.iov_base = packet.data(), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  Control control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET is returned once if the other side ended without reading all; its messages are still here.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  closed_ = closed_ || got == 0;
  if (got <= 0) return false;
  passed_ = attached(message);
  return static_cast<std::size_t>(got) == packet.size();
}

std::pair<Fd, Fd> packet_sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

LinkPair make_link() {
  auto [main, guard] = packet_sockets();
  return {MainEnd(std::move(main)), GuardEnd(std::move(guard))};
}

}  // namespace holdfast::cli
