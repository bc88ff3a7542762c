// SPDX-License-Identifier: Apache-2.0
// protocol.h - the protocol of Redis: writes commands, and reads replies with hiredis, which is loaded when
// it is first needed.
#pragma once
#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/row.h"
#include "holdfast/clock.h"
#include "holdfast/result.h"

namespace holdfast::redis {

// -- hiredis

#define HOLDFAST_HIREDIS(FUNCTION) \
  FUNCTION(freeReplyObject)        \
  FUNCTION(redisReaderCreate)      \
  FUNCTION(redisReaderFeed)        \
  FUNCTION(redisReaderFree)        \
  FUNCTION(redisReaderGetReply)

// These hide hiredis's own names: a call reads as it always does, and goes to what load_libhiredis() has
// found.
#define HOLDFAST_DECLARE(name) extern decltype(&::name) name;
HOLDFAST_HIREDIS(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libhiredis();

// Of the one that is installed; empty: none is.
std::string hiredis_version();

// -- commands

// Writes a command as the server reads it: *COUNT, then $LENGTH and the bytes of each word.  Appends to a
// text that is kept from call to call.  A word may be put together from parts without being copied first;
// hiredis would need it whole.
class Command {
 public:
  // REQUIRES: so many words follow.
  Command(std::string& out, std::size_t words) : out_(out) { line('*', words); }

  template <class... Part>
  Command& word(const Part&... part) {
    line('$', (std::string_view(part).size() + ...));
    (out_.append(std::string_view(part)), ...);
    out_.append("\r\n");
    return *this;
  }
  template <class... Word>
  Command& words(const Word&... word) {
    (this->word(word), ...);
    return *this;
  }
  Command& number(std::integral auto value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return word(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

 private:
  void line(char kind, std::size_t count) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, count).ptr;
    out_.push_back(kind);
    out_.append(digits, static_cast<std::size_t>(end - digits));
    out_.append("\r\n");
  }
  std::string& out_;
};

// As the scripts have it: in milliseconds, -1 for a lease without an end.
inline std::int64_t ttl_ms(Millis ttl) {
  return ttl == never ? -1 : std::min(ttl, core::longest_length).count();
}
inline Millis ttl_of(std::int64_t ms) { return ms < 0 ? Millis(never) : Millis(ms); }

// -- replies

// One value of a reply.  To read it as what it is not throws Failure: in_doubt, because the server did
// something and we do not understand what.
class Value {
 public:
  explicit Value(const redisReply& reply) noexcept : reply_(&reply) {}

  bool is_error() const noexcept { return reply_->type == REDIS_REPLY_ERROR; }
  bool is_nil() const noexcept { return reply_->type == REDIS_REPLY_NIL; }
  std::string_view text() const;          // a string, a status, or the words of an error
  std::int64_t number() const;            // an integer, or a string of digits
  std::size_t size() const;               // of a list
  Value operator[](std::size_t i) const;  // REQUIRES: i < size()

  bool flag() const { return text() == "1"; }
  // In microseconds since 1970.
  Micros micros() const { return Micros(number()); }
  Moment moment() const { return Moment(micros()); }

 private:
  const redisReply* reply_;
};

// A whole reply.
class Answer : public Value {
 public:
  explicit Answer(redisReply* reply) noexcept : Value(*reply), owned_(reply) {}

 private:
  struct Free {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, Free> owned_;
};

}  // namespace holdfast::redis
