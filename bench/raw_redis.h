// SPDX-License-Identifier: Apache-2.0
// raw_redis.h - leases by hand on hiredis, as everybody writes them: SET NX PX, and a script that deletes.
#pragma once
#include <hiredis/hiredis.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/subject.h"

namespace holdfast::bench {

struct FreeRedis {
  void operator()(redisContext* c) const noexcept { redisFree(c); }
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
using Answer = std::unique_ptr<redisReply, FreeRedis>;

// hiredis's own blocking interface.  Throws what the server or the driver says.
class RedisConnection {
 public:
  explicit RedisConnection(int port);
  using Command = std::initializer_list<std::string_view>;
  Answer ask(Command words);
  void send(Command words);  // without waiting
  Answer next();             // the next answer
 private:
  Answer checked(void* reply) const;
  const std::unique_ptr<redisContext, FreeRedis> context_;
};

class RawRedis final : public ByHand {
 public:
  explicit RawRedis(int port);
  void acquire_and_release(const std::string& key, const std::string& owner) override;
  // Two pipelines of singles.
  void acquire_and_release_all(const std::vector<std::string>& keys, const std::string& owner) override;
  bool is_held(const std::string& key) override;
  void ask() override;

 private:
  RedisConnection connection_;
  const std::string release_;  // the script's SHA1
};

// PUBLISH in one process, SUBSCRIBE in the other.
class PublishWire final : public Wire {
 public:
  explicit PublishWire(int port) : port_(port) {}
  void join(int me) override;
  void send() override;
  void receive() override;

 private:
  const int port_;
  std::unique_ptr<RedisConnection> says_, hears_;
  std::string channel_;
};

}  // namespace holdfast::bench
