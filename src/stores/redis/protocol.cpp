// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol.h"

#include "base/driver.h"

namespace holdfast::redis {

#define HOLDFAST_DEFINE(name) decltype(&::name) name = nullptr;
HOLDFAST_HIREDIS(HOLDFAST_DEFINE)
#undef HOLDFAST_DEFINE

namespace {

// Of the header: the layout of its structs has changed between its versions.
#define HOLDFAST_TEXT(word) #word
#define HOLDFAST_NUMBER(number) HOLDFAST_TEXT(number)
constexpr const char* libhiredis = "libhiredis.so." HOLDFAST_NUMBER(HIREDIS_SONAME);
constexpr const char* libhiredis_package = "libhiredis" HOLDFAST_NUMBER(HIREDIS_SONAME);
#undef HOLDFAST_NUMBER
#undef HOLDFAST_TEXT

[[noreturn]] void throw_unexpected(const char* wanted) {
  throw_failure({Errc::in_doubt, std::string("unexpected reply from the server: it is not ") + wanted});
}

}  // namespace

Status load_libhiredis() {
#define HOLDFAST_FIND(name) {#name, &name},
  static Driver driver(libhiredis, libhiredis_package, {HOLDFAST_HIREDIS(HOLDFAST_FIND)});
#undef HOLDFAST_FIND
  return driver.load();
}

// It has no function for its version; a library of that name has the header's.
std::string hiredis_version() {
  void* some = nullptr;
  Driver driver(libhiredis, "", {{"redisConnectWithOptions", &some, true}});
  if (!driver.load()) return "";
  return std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." +
         std::to_string(HIREDIS_PATCH);
}

std::string_view Value::text() const {
  switch (reply_->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR: return {reply_->str, static_cast<std::size_t>(reply_->len)};
  }
  throw_unexpected("a string");
}

std::int64_t Value::number() const {
  if (reply_->type == REDIS_REPLY_INTEGER) return reply_->integer;
  const std::string_view digits = text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) throw_unexpected("a number");
  return number;
}

std::size_t Value::size() const {
  if (reply_->type != REDIS_REPLY_ARRAY) throw_unexpected("a list");
  return reply_->elements;
}

Value Value::operator[](std::size_t i) const {
  if (i >= size()) throw_unexpected("a list of the expected length");
  return Value(*reply_->element[i]);
}

}  // namespace holdfast::redis
