// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/socket.h"
#include "base/text.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_dial = 10s;

// -- a stream of the driver on a socket of ours

struct Stream {
  mongoc_stream_t base;  // first: the driver knows no more of us
  Fd fd;
  Deadline* deadline;
  int error = 0;  // of the last call
};

constexpr int stream_type = 1 << 20;  // none of the driver's

Stream& stream_of(mongoc_stream_t* stream) { return *reinterpret_cast<Stream*>(stream); }

void destroy_stream(mongoc_stream_t* stream) {
  Stream& self = stream_of(stream);
  std::erase(self.deadline->streams, stream);
  delete &self;
}

ssize_t fail_with(Stream& self, int error) {
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
    if (moved == 0)
      return done >= least && done > 0 ? static_cast<ssize_t>(done) : fail_with(self, ECONNRESET);
    if (moved < 0 && errno != EAGAIN && errno != EINTR) return fail_with(self, errno);
    if (moved < 0) {
      if (done >= least && done > 0) break;
      if (BootClock::now() >= end || !await(self.fd.get(), event, end))
        return fail_with(self, BootClock::now() >= self.deadline->until ? ETIMEDOUT : EAGAIN);
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

ssize_t write_parts(mongoc_stream_t* stream, mongoc_iovec_t* parts, std::size_t count, std::int32_t timeout) {
  Stream& self = stream_of(stream);
  if (!self.fd) return fail_with(self, ENOTCONN);
  const Instant end = self.deadline->end_of(timeout);
  if (BootClock::now() >= self.deadline->until) return fail_with(self, ETIMEDOUT);
  self.deadline->wrote = true;
  return move_bytes(self, parts, count, 1, POLLOUT, end,
                    [](int fd, const msghdr& m) { return ::sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

ssize_t read_parts(mongoc_stream_t* stream, mongoc_iovec_t* parts, std::size_t count, std::size_t least,
                   std::int32_t timeout) {
  Stream& self = stream_of(stream);
  if (!self.fd) return fail_with(self, ENOTCONN);
  return move_bytes(self, parts, count, least, POLLIN, self.deadline->end_of(timeout),
                    [](int fd, msghdr& m) { return ::recvmsg(fd, &m, MSG_DONTWAIT); });
}

// The driver polls only streams of one type together, so all of these are of this one.
ssize_t poll_streams(mongoc_stream_poll_t* streams, std::size_t count, std::int32_t timeout) {
  std::vector<pollfd> fds;
  Instant end = Instant::max(), until = end;
  bool broken = false;
  for (std::size_t i = 0; i < count; ++i) {
    Stream& self = stream_of(streams[i].stream);
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

bool is_closed(mongoc_stream_t* stream) {
  char byte = 0;
  const ssize_t there = ::recv(stream_of(stream).fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR);
}

// -- a connection

std::int32_t left_ms(Instant until) {
  const auto left = std::chrono::ceil<Millis>(until - BootClock::now());
  return static_cast<std::int32_t>(std::clamp<Millis>(left, 1ms, 24h).count());
}

// Owns the stream from now on.  Null: the certificate is not good, or the time was over.
mongoc_stream_t* with_tls(mongoc_stream_t* plain, const mongoc_uri_t* uri, const char* host,
                          std::int32_t timeout, bson_error_t* error) {
  const auto flag = [&](const char* name) { return mongoc_uri_get_option_as_bool(uri, name, false); };
  const auto text = [&](const char* name) { return mongoc_uri_get_option_as_utf8(uri, name, nullptr); };
  const bool lax = flag(MONGOC_URI_TLSINSECURE);
  mongoc_ssl_opt_t options{};
  options.pem_file = text(MONGOC_URI_TLSCERTIFICATEKEYFILE);
  options.pem_pwd = text(MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD);
  options.ca_file = text(MONGOC_URI_TLSCAFILE);
  options.weak_cert_validation = lax || flag(MONGOC_URI_TLSALLOWINVALIDCERTIFICATES);
  options.allow_invalid_hostname = lax || flag(MONGOC_URI_TLSALLOWINVALIDHOSTNAMES);
  mongoc_stream_t* stream = mongoc_stream_tls_new_with_hostname(plain, host, &options, 1);
  if (!stream) {
    mongoc_stream_destroy(plain);
    bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
                   "cannot start TLS: a certificate file cannot be read");
    return nullptr;
  }
  if (mongoc_stream_tls_handshake_block(stream, host, timeout, error)) return stream;
  mongoc_stream_destroy(stream);
  const std::string said = &error->message[0];
  if (said.find("verif") == std::string::npos)  // a server that shows a certificate speaks it
    bson_set_error(error, error->domain, error->code, "%s (does the server speak TLS?)", said.c_str());
  return nullptr;
}

}  // namespace

Instant Deadline::end_of(std::int32_t timeout) const noexcept {
  return timeout < 0 ? until : std::min(until, clamped_add(BootClock::now(), Millis(timeout)));
}

bool Deadline::any_closed() const {
  return streams.empty() || std::any_of(streams.begin(), streams.end(), is_closed);
}

mongoc_stream_t* stream_on(Fd socket, Deadline& deadline) {
  auto* self = new Stream{.base = {}, .fd = std::move(socket), .deadline = &deadline};
  mongoc_stream_t& base = self->base;
  base.type = stream_type;
  base.destroy = destroy_stream;
  base.failed = destroy_stream;
  base.writev = write_parts;
  base.readv = read_parts;
  base.poll = poll_streams;
  base.check_closed = is_closed;
  base.close = [](mongoc_stream_t* s) { return stream_of(s).fd.reset(), 0; };
  base.flush = [](mongoc_stream_t*) { return 0; };
  base.setsockopt = [](mongoc_stream_t* s, int level, int name, void* value, mongoc_socklen_t size) {
    return ::setsockopt(stream_of(s).fd.get(), level, name, value, size);
  };
  base.timed_out = [](mongoc_stream_t* s) { return stream_of(s).error == ETIMEDOUT; };
  base.should_retry = [](mongoc_stream_t* s) { return stream_of(s).error == EAGAIN; };
  if (self->fd) deadline.streams.push_back(&base);
  return &base;
}

mongoc_stream_t* Connection::open_stream(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                                         bson_error_t*) noexcept {
  Connection& connection = *static_cast<Connection*>(self);
  Deadline& deadline = connection.deadline_;
  const Instant now = BootClock::now();
  const Instant until = std::min(deadline.until, now + longest_dial);
  // One of several that does not answer must not use up the time of the others.
  const mongoc_host_list_t* seeds = mongoc_uri_get_hosts(uri);
  const bool only_host = seeds == nullptr || (seeds->next == nullptr &&
                                              std::strcmp(seeds->host_and_port, host->host_and_port) == 0);
  const Instant turn = only_host ? until : now + (until - now) / 3;
  mongoc_stream_t* stream = nullptr;
  try {
    connection.check_plaintext_to(*host);
    Fd socket =
        host->family == AF_UNIX ? connect_unix(host->host, turn) : connect_tcp(host->host, host->port, turn);
    stream = stream_on(std::move(socket), deadline);
    bson_error_t why{};
    if (mongoc_uri_get_tls(uri)) stream = with_tls(stream, uri, host->host, left_ms(turn), &why);
    if (!stream) connection.note_failure(only_host, *host, &why.message[0]);
  } catch (const std::exception& e) {
    connection.note_failure(only_host, *host, e.what());
  }
  // Never null: of a member that another one has named just now, the driver (libmongoc 1.23) takes a lock
  // twice then, and hangs for ever.
  return mongoc_stream_buffered_new(stream ? stream : stream_on(Fd(), deadline), 1024);
}

void Connection::note_failure(bool only_host, const mongoc_host_list_t& host, const char* why) noexcept {
  if (failures_.size() >= sizeof(bson_error_t)) return;
  try {
    failures_ +=
        (failures_.empty() ? "" : "; ") + (only_host ? "" : std::string(host.host_and_port) + ": ") + why;
  } catch (const std::bad_alloc&) {
  }
}

// The hosts of the URL were checked when it was read; this checks the members that the servers name.
void Connection::check_plaintext_to(const mongoc_host_list_t& host) {
  if (config_->tls || config_->plaintext_allowed || is_this_machine(host)) return;
  refused_member_ = printable(host.host_and_port);
  throw_failure({Errc::refused, refused_member_ + about_plaintext});
}

mongoc_client_t* Connection::client() {
  if (client_) return client_.get();
  client_.reset(mongoc_client_new_from_uri(config_->uri.get()));
  if (!client_)
    throw_failure(
        {Errc::unavailable, "cannot connect to " + config_->name() + ": its address cannot be resolved"});
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
  mongoc_client_set_stream_initiator(client_.get(), open_stream, this);
  return client_.get();
}

// The driver would open it anew by itself, but only after a command of ours was lost.
bool Connection::closed() { return !client_ || deadline_.any_closed(); }

Document Connection::run_in(const std::string& database, Document command, Effect effect, Instant until) {
  last_code_ = 0;
  refused_member_.clear();
  failures_.clear();
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  const std::int64_t left = left_ms(until);
  command.number("maxTimeMS", left);
  if (effect == Effect::writes) {
    Document concern;
    standalone_ ? concern.number("w", 1) : concern.text("w", "majority");
    command.document("writeConcern", concern.flag("j", true).number("wtimeout", left));
  }
  if (effect == Effect::begins) command.document("writeConcern", Document().number("w", 1));
  const auto fixed = config_->fixed_now;
  const Document sent = fixed ? Document::with_now(View(command), *fixed) : std::move(command);
  mongoc_client_t* server = client();
  deadline_.until = until;
  deadline_.wrote = false;
  Document reply;
  bson_error_t error{};
  const bool good =
      mongoc_client_command_simple(server, database.c_str(), &sent.get(), nullptr, &reply.raw(), &error);
  if (good) {
    if (auto doubt = write_concern_error(View(reply), *config_)) {
      close_if_gone(View(reply)["writeConcernError"].number("code"));
      throw_failure(*std::move(doubt));
    }
    return reply;
  }
  // The driver only knows that a stream was broken.
  if (!failures_.empty() && (error.domain == MONGOC_ERROR_SERVER_SELECTION || !deadline_.wrote))
    bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, "%s",
                   failures_.c_str());
  Error failure = to_error(error, effect, deadline_.wrote, *config_);
  if (error.domain == MONGOC_ERROR_SERVER) {
    last_code_ = error.code;
    close_if_gone(last_code_);
  } else {
    close();
  }
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION && !refused_member_.empty())
    throw_failure({Errc::refused, config_->place + " refers to the member " + refused_member_ + ", which" +
                                      about_plaintext});
  throw_failure(std::move(failure));
}

}  // namespace holdfast::mongodb
