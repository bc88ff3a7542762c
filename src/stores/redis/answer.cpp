// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/answer.h"

#include <charconv>

#include "holdfast/result.h"

namespace holdfast::redis {
namespace {

[[noreturn]] void odd(const char* what) {
  throw_failure({Errc::in_doubt, std::string("unexpected reply from the server: it is not ") + what});
}

}  // namespace

std::string_view Value::text() const {
  switch (reply_->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR: return {reply_->str, static_cast<std::size_t>(reply_->len)};
  }
  odd("a string");
}

std::int64_t Value::number() const {
  if (reply_->type == REDIS_REPLY_INTEGER) return reply_->integer;
  const std::string_view digits = text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) odd("a number");
  return number;
}

std::size_t Value::size() const {
  if (reply_->type != REDIS_REPLY_ARRAY) odd("a list");
  return reply_->elements;
}

Value Value::operator[](std::size_t i) const {
  if (i >= size()) odd("a list of the expected length");
  return Value(*reply_->element[i]);
}

}  // namespace holdfast::redis
