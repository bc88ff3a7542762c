// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/socket.h"
#include "base/text.h"
#include "stores/redis/active_job_lock_lua.h"
#include "stores/redis/fault.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;

// How long a receive may block: that saves the poll() before it, and is an error of so much at most.
constexpr Millis one_block = 20ms;

[[noreturn]] void throw_broken(const StoreConfig& config, const std::string& why) {
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

// Far more than any request of ours brings: lists come in pages, and pages of jobs are limited by their
// bytes.
constexpr std::size_t longest_reply = std::size_t{64} << 20;

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
    encrypted_.clear();
    const bool done = tls_->shake_hands(received, encrypted_);
    if (!encrypted_.empty()) send_plain(encrypted_, until);
    if (done) return;
    if (!await(fd(), POLLIN, until))
      throw_broken(config_,
                   "timed out in the TLS handshake: the server may not speak TLS on this port; check the "
                   "port, or write redis:// if you want no TLS");
    received = receive_plain(MSG_DONTWAIT);
  }
}

void Stream::send(std::string_view bytes, Instant until) {
  if (!tls_) return send_plain(bytes, until);
  encrypted_.clear();
  tls_->encrypt(bytes, encrypted_);
  send_plain(encrypted_, until);
}

void Stream::send_plain(std::string_view bytes, Instant until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!await(fd(), POLLOUT, until)) throw_broken(config_, "timed out sending the request");
    } else if (errno != EINTR) {
      throw_broken(config_, std::string("failed: ") + std::strerror(errno));
    }
  }
}

std::string_view Stream::receive(Instant until) {
  while (true) {
    const bool may_block = BootClock::now() + one_block < until;
    if (!may_block && !await(fd(), POLLIN, until)) throw_broken(config_, "timed out waiting for the reply");
    const std::string_view received = receive_plain(may_block ? 0 : MSG_DONTWAIT);
    if (const std::string_view bytes = tls_ ? decrypted(received) : received; !bytes.empty()) return bytes;
  }
}

std::string_view Stream::take() {
  const std::string_view received = receive_plain(MSG_DONTWAIT);
  return tls_ ? decrypted(received) : received;
}

std::string_view Stream::decrypted(std::string_view received) {
  plain_.clear();
  if (!received.empty() && !tls_->decrypt(received, plain_) && plain_.empty())
    throw_broken(config_, "was closed by the server");
  return plain_;
}

std::string_view Stream::receive_plain(int flags) {
  const ssize_t count = ::recv(fd(), buffer_.data(), buffer_.size(), flags);
  if (count > 0) {
    received_ = true;
    return {buffer_.data(), static_cast<std::size_t>(count)};
  }
  // After an interruption the caller checks its time before the next attempt.
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  // A server of another kind closes the connection before it has read all that we sent.
  const std::string why =
      count == 0 ? "was closed by the server" : std::string("failed: ") + std::strerror(errno);
  throw_broken(config_, why + (received_ ? ""
                                         : " before its first reply: it is probably not a Redis server; "
                                           "check host and port"));
}

static_assert(lua_count == active_job_lock::lua_count);

Script script_for(Lua lua, Layout layout) noexcept {
  if (layout == Layout::own) return {text(lua), sha1(lua)};
  const auto same = static_cast<active_job_lock::Lua>(lua);
  return {text(same), sha1(same)};
}

Connection::Connection(std::shared_ptr<const StoreConfig> config, Instant until, bool with_db)
    : config_(std::move(config)), stream_(*config_, until), reader_(redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
  const Options& o = config_->options;
  if (!o.user.empty()) {
    add("AUTH", o.user, o.password);
    logs_in_ = true;
  } else if (!o.password.empty()) {
    add("AUTH", o.password);
    logs_in_ = true;
  }
  if (with_db && o.db != 0) {
    add("SELECT", std::to_string(o.db));
    selects_ = true;
  }
  add("CLIENT", "SETNAME", "holdfast");
}

void Connection::check_login(Instant until) {
  std::optional<Error> refused;
  if (logs_in_) {
    const Answer answer = receive(until);
    if (answer.is_error()) refused = login_error(answer.text(), *config_);
  }
  if (selects_) {
    const Answer answer = receive(until);
    if (answer.is_error() && !refused) refused = to_error(answer.text(), *config_);
  }
  // The name is for people who read CLIENT LIST: a user without that right can do without it.
  const Answer named = receive(until);
  const bool needs_login = named.is_error() && named.text().starts_with("NOAUTH");
  if (!refused && needs_login) refused = to_error(named.text(), *config_);
  if (refused) throw_failure(*std::move(refused));
}

void Connection::fail(const Failure& failure, bool sent) {
  broken_ = true;
  Error error = failure.error();
  if (sent && error.code == Errc::unavailable) error.code = Errc::in_doubt;
  throw_failure(std::move(error));
}

void Connection::send(Instant until) {
  try {
    stream_.send(out_, until);
  } catch (const Failure& failure) {
    fail(failure, false);  // the end of it is missing
  }
  out_.clear();
}

Answer Connection::receive(Instant until) {
  try {
    while (true) {
      if (auto answer = parse()) return *std::move(answer);
      feed(stream_.receive(until));
    }
  } catch (const Failure& failure) {
    fail(failure, true);
  }
}

std::optional<Answer> Connection::take() {
  try {
    if (auto answer = parse()) return answer;
    while (true) {
      const std::string_view bytes = stream_.take();
      if (bytes.empty()) return std::nullopt;
      feed(bytes);
      if (auto answer = parse()) return answer;
    }
  } catch (const Failure& failure) {
    fail(failure, true);
  }
}

void Connection::feed(std::string_view bytes) {
  fed_ += bytes.size();
  if (fed_ > longest_reply)
    throw_failure({Errc::unavailable, "unexpected reply from the server: it is too long"});
  if (!is_redis_ && std::string_view("+-:$*").find(bytes.front()) == std::string_view::npos)
    throw_failure(wrong_protocol(bytes, *config_));
  is_redis_ = true;
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) throw std::bad_alloc();
}

std::optional<Answer> Connection::parse() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
    throw_failure({Errc::unavailable, printable(config_->place) +
                                          ": the server does not follow the Redis protocol: " +
                                          printable(static_cast<const char*>(reader_->errstr))});
  if (reply == nullptr) return std::nullopt;
  fed_ = 0;
  return Answer(static_cast<redisReply*>(reply));
}

Answer Connection::receive_valid(Instant until) { return checked(receive(until), *config_); }

std::string Connection::text_at(std::string_view text, Micros now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  static constexpr std::string_view reads_clock = "call('TIME')";  // in the part `begin` of leases.lua
  std::string fixed(text);
  fixed.replace(
      fixed.find(reads_clock), reads_clock.size(),
      "{'" + std::to_string(seconds.count()) + "', '" + std::to_string(Micros(now - seconds).count()) + "'}");
  return fixed;
}

bool Connection::closed() noexcept {
  try {
    return take().has_value() || broken_;  // a reply that nobody has asked for
  } catch (const Failure&) {
    return true;
  }
}

}  // namespace holdfast::redis
