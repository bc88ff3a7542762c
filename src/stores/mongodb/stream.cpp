// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace holdfast::mongodb {
namespace {

struct Stream {
  mongoc_stream_t base;  // first: the driver knows no more of us
  Fd fd;
  Deadline* deadline;
  int error = 0;  // of the last call
};

constexpr int type = 1 << 20;  // none of the driver's

Stream& ours(mongoc_stream_t* stream) { return *reinterpret_cast<Stream*>(stream); }

void destroy(mongoc_stream_t* stream) {
  Stream& self = ours(stream);
  std::erase(self.deadline->streams, stream);
  delete &self;
}

ssize_t fail(Stream& self, int error) {
  errno = self.error = error;
  return -1;
}

// Moves bytes with `transfer` until there are at least `least`, or the time is over.
template <class Transfer>
ssize_t move_bytes(Stream& self, mongoc_iovec_t* parts, std::size_t count, std::size_t least, short event,
                   Instant end, Transfer transfer) {
  std::vector<iovec> left(parts, parts + count);
  msghdr message{};
  std::size_t done = 0, first = 0;
  while (first < left.size()) {
    message.msg_iov = &left[first];
    message.msg_iovlen = left.size() - first;
    ssize_t moved = transfer(self.fd.get(), message);
    if (moved == 0) return done >= least && done > 0 ? static_cast<ssize_t>(done) : fail(self, ECONNRESET);
    if (moved < 0 && errno != EAGAIN && errno != EINTR) return fail(self, errno);
    if (moved < 0) {
      if (done >= least && done > 0) break;
      if (BootClock::now() >= end || !await(self.fd.get(), event, end))
        return fail(self, BootClock::now() >= self.deadline->until ? ETIMEDOUT : EAGAIN);
      continue;
    }
    done += static_cast<std::size_t>(moved);
    for (; first < left.size(); ++first) {
      const auto used = std::min(static_cast<std::size_t>(moved), left[first].iov_len);
      left[first].iov_base = static_cast<char*>(left[first].iov_base) + used;
      left[first].iov_len -= used;
      moved -= static_cast<ssize_t>(used);
      if (left[first].iov_len > 0) break;
    }
    if (event == POLLIN && done >= least) break;
  }
  return static_cast<ssize_t>(done);
}

ssize_t writev(mongoc_stream_t* stream, mongoc_iovec_t* parts, std::size_t count, std::int32_t timeout) {
  Stream& self = ours(stream);
  if (!self.fd) return fail(self, ENOTCONN);
  const Instant end = self.deadline->end_of(timeout);
  if (BootClock::now() >= self.deadline->until) return fail(self, ETIMEDOUT);
  self.deadline->wrote = true;
  return move_bytes(self, parts, count, 1, POLLOUT, end,
                    [](int fd, const msghdr& m) { return ::sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

ssize_t readv(mongoc_stream_t* stream, mongoc_iovec_t* parts, std::size_t count, std::size_t least,
              std::int32_t timeout) {
  Stream& self = ours(stream);
  if (!self.fd) return fail(self, ENOTCONN);
  return move_bytes(self, parts, count, least, POLLIN, self.deadline->end_of(timeout),
                    [](int fd, msghdr& m) { return ::recvmsg(fd, &m, MSG_DONTWAIT); });
}

// All of them are ours: the driver polls streams of one type together.
ssize_t poll(mongoc_stream_poll_t* streams, std::size_t count, std::int32_t timeout) {
  std::vector<pollfd> fds;
  Instant end = Instant::max(), until = end;
  bool broken = false;
  for (std::size_t i = 0; i < count; ++i) {
    Stream& self = ours(streams[i].stream);
    fds.push_back({self.fd.get(), static_cast<short>(streams[i].events), 0});
    broken = broken || !self.fd;
    end = self.deadline->end_of(timeout);
    until = self.deadline->until;
  }
  if (BootClock::now() >= until) {
    // The driver would go on asking until its own time is over.
    for (std::size_t i = 0; i < count; ++i) streams[i].revents = POLLERR;
    return static_cast<ssize_t>(count);
  }
  const auto left = broken ? 0 : std::chrono::ceil<Millis>(end - BootClock::now()).count();
  const int ready =
      ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<Millis::rep>(left, 0, 60'000)));
  for (std::size_t i = 0; i < count; ++i) streams[i].revents = fds[i].fd < 0 ? POLLERR : fds[i].revents;
  return broken ? static_cast<ssize_t>(count) : ready;
}

bool check_closed(mongoc_stream_t* stream) {
  char byte = 0;
  const ssize_t there = ::recv(ours(stream).fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Instant Deadline::end_of(std::int32_t timeout) const noexcept {
  return timeout < 0 ? until : std::min(until, clamped_add(BootClock::now(), Millis(timeout)));
}

bool Deadline::any_closed() const {
  return streams.empty() || std::any_of(streams.begin(), streams.end(), check_closed);
}

mongoc_stream_t* stream_on(Fd socket, Deadline& deadline) {
  auto* self = new Stream{.base = {}, .fd = std::move(socket), .deadline = &deadline};
  mongoc_stream_t& base = self->base;
  base.type = type;
  base.destroy = destroy;
  base.failed = destroy;
  base.writev = writev;
  base.readv = readv;
  base.poll = poll;
  base.check_closed = check_closed;
  base.close = [](mongoc_stream_t* s) { return ours(s).fd.reset(), 0; };
  base.flush = [](mongoc_stream_t*) { return 0; };
  base.setsockopt = [](mongoc_stream_t* s, int level, int name, void* value, mongoc_socklen_t size) {
    return ::setsockopt(ours(s).fd.get(), level, name, value, size);
  };
  base.timed_out = [](mongoc_stream_t* s) { return ours(s).error == ETIMEDOUT; };
  base.should_retry = [](mongoc_stream_t* s) { return ours(s).error == EAGAIN; };
  if (self->fd) deadline.streams.push_back(&base);
  return &base;
}

}  // namespace holdfast::mongodb
