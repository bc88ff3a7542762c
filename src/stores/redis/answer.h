// SPDX-License-Identifier: Apache-2.0
// answer.h - what the server said to one command, as hiredis has decoded it.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "stores/redis/libhiredis.h"

namespace holdfast::redis {

// One value.  Asking for what it is not throws Failure: in_doubt, as something was done and we do not
// understand what.
class Value {
 public:
  explicit Value(const redisReply& reply) noexcept : reply_(&reply) {}

  bool is_error() const noexcept { return reply_->type == REDIS_REPLY_ERROR; }
  bool is_nil() const noexcept { return reply_->type == REDIS_REPLY_NIL; }
  std::string_view text() const;          // a string, a status, or the words of an error
  std::int64_t number() const;            // an integer, or a string of digits
  std::size_t size() const;               // of a list
  Value operator[](std::size_t i) const;  // REQUIRES: i < size()

 private:
  const redisReply* reply_;
};

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
// Owns all that it shows.
class Answer {
 public:
  explicit Answer(redisReply* reply) noexcept : reply_(reply) {}
  Value operator*() const noexcept { return Value(*reply_); }
  // So that `answer->size()` reads as it does everywhere.
  struct Arrow {
    Value value;
    const Value* operator->() const noexcept { return &value; }
  };
  Arrow operator->() const noexcept { return {**this}; }

 private:
  std::unique_ptr<redisReply, FreeReply> reply_;
};

}  // namespace holdfast::redis
