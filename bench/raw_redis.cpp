// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_redis.h"

#include <array>
#include <cassert>
#include <stdexcept>

#include "bench/lua/release.lua.h"

namespace holdfast::bench {
namespace {

constexpr std::string_view ttl_text = "30000";

[[noreturn]] void redis_failed(const std::string& why) { throw std::runtime_error("by hand: " + why); }

// What hiredis wants: no copies, no memory.
struct Words8 {
  explicit Words8(RedisConnection::Command words) {
    assert(words.size() <= texts.size());
    for (const std::string_view word : words) {
      texts[count] = word.data();
      lengths[count++] = word.size();
    }
  }
  std::array<const char*, 8> texts{};
  std::array<std::size_t, 8> lengths{};
  std::size_t count = 0;
};

void must_be(const Answer& answer, bool good, const std::string& key) {
  if (!good) redis_failed(key + ": " + (answer->str != nullptr ? answer->str : "not what was asked for"));
}

bool is_ok(const Answer& answer) { return answer->type == REDIS_REPLY_STATUS; }
bool is_one(const Answer& answer) { return answer->type == REDIS_REPLY_INTEGER && answer->integer == 1; }

}  // namespace

RedisConnection::RedisConnection(int port) : context_(redisConnect("127.0.0.1", port)) {
  if (context_ == nullptr || context_->err != 0) redis_failed("cannot connect to Redis");
}

Answer RedisConnection::checked(void* reply) const {
  Answer answer(static_cast<redisReply*>(reply));
  if (answer == nullptr) redis_failed(context_->errstr);
  if (answer->type == REDIS_REPLY_ERROR) redis_failed(answer->str);
  return answer;
}

Answer RedisConnection::ask(Command words) {
  Words8 w(words);
  return checked(
      redisCommandArgv(context_.get(), static_cast<int>(w.count), w.texts.data(), w.lengths.data()));
}

void RedisConnection::send(Command words) {
  Words8 w(words);
  redisAppendCommandArgv(context_.get(), static_cast<int>(w.count), w.texts.data(), w.lengths.data());
}

Answer RedisConnection::next() {
  void* reply = nullptr;
  redisGetReply(context_.get(), &reply);
  return checked(reply);
}

RawRedis::RawRedis(int port)
    : connection_(port), release_(connection_.ask({"SCRIPT", "LOAD", release_lua})->str) {}

void RawRedis::acquire_and_release(const std::string& key, const std::string& owner) {
  const Answer granted = connection_.ask({"SET", key, owner, "NX", "PX", ttl_text});
  must_be(granted, is_ok(granted), key);
  const Answer released = connection_.ask({"EVALSHA", release_, "1", key, owner});
  must_be(released, is_one(released), key);
}

void RawRedis::acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) {
  for (const std::string& key : keys) connection_.send({"SET", key, owner, "NX", "PX", ttl_text});
  for (const std::string& key : keys) {
    const Answer granted = connection_.next();
    must_be(granted, is_ok(granted), key);
  }
  for (const std::string& key : keys) connection_.send({"EVALSHA", release_, "1", key, owner});
  for (const std::string& key : keys) {
    const Answer released = connection_.next();
    must_be(released, is_one(released), key);
  }
}

bool RawRedis::is_held(const std::string& key) { return is_one(connection_.ask({"EXISTS", key})); }

void RawRedis::ask() { connection_.ask({"PING"}); }

void PublishWire::join(int me) {
  says_ = std::make_unique<RedisConnection>(port_);
  hears_ = std::make_unique<RedisConnection>(port_);
  hears_->ask({"SUBSCRIBE", "line" + std::to_string(me)});
  channel_ = "line" + std::to_string(1 - me);
}

void PublishWire::send() { says_->ask({"PUBLISH", channel_, "k"}); }

void PublishWire::receive() { hears_->next(); }

}  // namespace holdfast::bench
