// SPDX-License-Identifier: Apache-2.0
// connection.h - one connection to the server: commands go out together, replies come back in their order.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "stores/redis/config.h"
#include "stores/redis/lua.h"
#include "stores/redis/protocol.h"

namespace holdfast::redis {

// Bytes to and from the server, plain or through TLS, each call bounded by an instant.  All throw Failure, as
// a rule unavailable: the stream does not know what was sent through it.
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
  std::string_view decrypted(std::string_view received);

  const StoreConfig& config_;
  Fd socket_;
  std::unique_ptr<Tls> tls_;
  std::string encrypted_, plain_;  // kept for their memory
  std::array<char, 16384> buffer_;
  bool received_ = false;  // anything
};

// A script and the hash by which the server knows it.
struct Script {
  std::string_view text, sha1;
};
Script script_for(Lua lua, Layout layout) noexcept;

// Throws Failure: unavailable if the server cannot have done what was sent (not all of it was), in_doubt if
// it can.  After that it is broken: nobody waits for the replies that are still to come.
class Connection {
 public:
  // Connects, and begins with who we are: what follows is sent together with that.  check_login() reads the
  // replies.
  Connection(std::shared_ptr<const StoreConfig> config, Instant until, bool with_db);

  // A command to be sent with the next send().  REQUIRES: so many words follow.
  Command command(std::size_t words) { return {out_, words}; }
  template <class... Word>
  void add(const Word&... words) {
    command(sizeof...(words)).words(words...);
  }
  // Forgets what was added and never sent, because memory ran out.
  void forget_unsent() noexcept { out_.clear(); }
  void send(Instant until);
  Answer receive(Instant until);
  // A reply that has come already, if one has.
  std::optional<Answer> take();

  // Throws Failure: refused if the server does not let us in.
  void check_login(Instant until);

  // Sends one command.  Throws Failure also for an error of the server.
  template <class... Word>
  Answer call(Instant until, const Word&... words) {
    add(words...);
    send(until);
    return receive_valid(until);
  }

  // Runs the script with the words that `add_words` puts behind its name and number of keys; there are so
  // many of these.  A server may forget a script at any time (SCRIPT FLUSH, a restart): then it gets the
  // whole text, which it remembers again.  The server's errors are among the answers.
  template <class AddWords>
  Answer run(Lua lua, std::size_t keys, std::size_t words, const AddWords& add_words, Instant until) {
    const auto send_script = [&](std::string_view verb, std::string_view what) {
      Command command(out_, 3 + keys + words);
      command.word(verb).word(what).number(keys);
      add_words(command);
      send(until);
      return receive(until);
    };
    const Script script = script_for(lua, config_->options.layout);
    if (config_->fixed_now) return send_script("EVAL", text_at(script.text, *config_->fixed_now));
    Answer answer = send_script("EVALSHA", script.sha1);
    const bool unknown = answer.is_error() && answer.text().starts_with("NOSCRIPT");
    return unknown ? send_script("EVAL", script.text) : std::move(answer);
  }

  int fd() const noexcept { return stream_.fd(); }
  bool broken() const noexcept { return broken_; }
  // The server has closed it since the last reply.  Costs a system call.
  bool closed() noexcept;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };
  // For tests: TIME in it is always that moment.  Leases still end by the server's clock.
  static std::string text_at(std::string_view text, Micros now);
  Answer receive_valid(Instant until);
  std::optional<Answer> parse();
  void feed(std::string_view bytes);
  [[noreturn]] void fail(const Failure& failure, bool sent);

  const std::shared_ptr<const StoreConfig> config_;
  Stream stream_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  std::string out_;
  std::size_t fed_ = 0;  // since the last reply
  bool logs_in_ = false, selects_ = false;
  bool is_redis_ = false;  // its first byte was one of Redis's
  bool broken_ = false;
};

}  // namespace holdfast::redis
