// SPDX-License-Identifier: Apache-2.0
// ruby.h - a job of active_job_lock, as it talks to Redis: its commands, one after the other, by its own
// clock.
#pragma once
#include <cctype>
#include <string>

#include "tests/redis/suite.h"

namespace holdfast::test {

// How we call the holder of what the gem has locked.
inline constexpr std::string_view stranger = "another program (active_job_lock)";

// String#to_i.
inline long long to_i(const std::string& text) {
  std::size_t end = 0;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
  return end == 0 ? 0 : std::stoll(text.substr(0, end));
}

class Ruby {
 public:
  // Its clock goes wrong by `skew` seconds.
  explicit Ruby(const RedisServer& server, std::string key, long long skew = 0)
      : server_(server), key_(std::move(key)), skew_(skew) {}

  long long now() const {
    return std::chrono::floor<std::chrono::seconds>(wall_now().time_since_epoch()).count() + skew_;
  }

  // acquire_lock!  Zero: the gem's default, no timeout.
  bool acquire(long long timeout = 0) { return take(key_, timeout); }
  bool acquire_loner(long long timeout = 0) { return take("loner:" + key_, timeout); }
  // release_lock!: whoever's it is.
  void release() { server_.command({"DEL", key_}); }
  void release_loner() { server_.command({"DEL", "loner:" + key_}); }
  // refresh_lock!: whoever's it is.
  void refresh(long long timeout) { server_.command({"SET", key_, std::to_string(now() + timeout)}); }
  // The second half of an acquire that read an old value before somebody else took the lock.  True: it has
  // it.
  bool contend(long long timeout) { return getset(key_, timeout); }

  // locked?, enqueued?
  bool locked() const { return is_held(key_); }
  bool enqueued() const { return is_held("loner:" + key_); }

  std::string value() const { return server_.command({"GET", key_}); }
  std::string marker() const { return server_.command({"GET", "loner:" + key_}); }

 private:
  bool setnx(const std::string& key, const std::string& value) {
    return server_.command({"SETNX", key, value}) == "1";
  }
  bool getset(const std::string& key, long long timeout) {
    const std::string old = server_.command({"GETSET", key, std::to_string(now() + timeout)});
    return old == "(nil)" || to_i(old) < now();
  }
  bool take(const std::string& key, long long timeout) {
    if (timeout <= 0) return setnx(key, "true");
    const std::string until = std::to_string(now() + timeout);
    if (setnx(key, until)) return true;
    const std::string held = server_.command({"GET", key});
    if (held != "(nil)" && to_i(held) < now()) return getset(key, timeout);
    return setnx(key, until);
  }
  bool is_held(const std::string& key) const {
    const std::string held = server_.command({"GET", key});
    return held != "(nil)" && (held.starts_with("true") || to_i(held) > now());
  }

  const RedisServer& server_;
  const std::string key_;
  const long long skew_;
};

}  // namespace holdfast::test
