// SPDX-License-Identifier: Apache-2.0
#include "bench/seam.h"

#include <stdexcept>

#include "base/process.h"
#include "base/random.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

namespace holdfast::bench {
namespace {

constexpr Millis ttl{30'000};

Instant soon() { return clamped_add(BootClock::now(), Millis(2'000)); }

}  // namespace

Seam::Seam(const std::string& url)
    : store_(try_store(url).value()),
      connection_(store_->connect(soon()).value()),
      owner_(owner_name(store_->client() + random_hex(16))) {}

Token Seam::apply(const Request& request) {
  Reply reply;
  connection_->apply({&request, 1}, {&reply, 1}, soon()).value();
  if (reply.verdict == Verdict::busy || reply.verdict == Verdict::lost)
    throw std::runtime_error("somebody else uses the key");
  return reply.token;
}

void Seam::acquire_and_release(std::string_view key) {
  const Token token = apply({.verb = Verb::acquire, .key = {key}, .owner = {owner_}, .ttl = ttl});
  apply({.verb = Verb::release, .key = {key}, .owner = {owner_}, .token = token});
}

void Seam::acquire(std::string_view key) {
  const Token token = apply({.verb = Verb::acquire, .key = {key}, .owner = {owner_}, .ttl = ttl});
  held_.push_back({std::string(key), token});
}

void Seam::renew_all() {
  std::vector<Request> requests;
  for (const Held& h : held_)
    requests.push_back(
        {.verb = Verb::renew, .key = {h.key}, .owner = {owner_}, .token = h.token, .ttl = ttl});
  std::vector<Reply> replies(requests.size());
  connection_->apply(requests, replies, soon()).value();
}

}  // namespace holdfast::bench
