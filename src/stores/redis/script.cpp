// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/script.h"

#include <array>

#include "stores/redis/lua/apply.lua.h"
#include "stores/redis/lua/basics.lua.h"
#include "stores/redis/lua/batch.lua.h"
#include "stores/redis/lua/begin.lua.h"
#include "stores/redis/lua/error_reply.lua.h"
#include "stores/redis/lua/fast_path.lua.h"
#include "stores/redis/lua/job.lua.h"
#include "stores/redis/lua/job_change.lua.h"
#include "stores/redis/lua/job_claim.lua.h"
#include "stores/redis/lua/job_enqueue.lua.h"
#include "stores/redis/lua/job_finish.lua.h"
#include "stores/redis/lua/job_list.lua.h"
#include "stores/redis/lua/job_purge.lua.h"
#include "stores/redis/lua/job_renew.lua.h"
#include "stores/redis/lua/job_tick.lua.h"
#include "stores/redis/lua/lease_beside.lua.h"
#include "stores/redis/lua/lease_own.lua.h"
#include "stores/redis/lua/leases.lua.h"
#include "stores/redis/lua/others.lua.h"
#include "stores/redis/lua/places.lua.h"
#include "stores/redis/lua/purge.lua.h"
#include "stores/redis/lua/rule.lua.h"
#include "stores/redis/openssl.h"

namespace holdfast::redis {
namespace {

std::string sha1_of(std::string_view text) {
  load_libcrypto().value();
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);  // as in tls.cpp: whoever comes first decides
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) out.append({hex[byte >> 4], hex[byte & 15]});
  return out;
}

std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string whole;
  for (const std::string_view piece : pieces) whole.append(piece);
  return whole;
}

}  // namespace

Script::Script(std::initializer_list<std::string_view> lua) : Script(joined(lua)) {}
Script::Script(std::string lua) : text(std::move(lua)), hash(sha1_of(text)) {}

namespace {

Scripts made_for(std::string_view lease, std::string_view fast_path) {
  const auto job = [&](std::string_view what) {
    return Script({begin_lua, basics_lua, lease, rule_lua, job_lua, what, error_reply_lua});
  };
  return {.apply = Script(
              {begin_lua, batch_lua, fast_path, basics_lua, lease, rule_lua, apply_lua, error_reply_lua}),
          .leases = Script({begin_lua, basics_lua, lease, leases_lua}),
          .others = Script({begin_lua, basics_lua, lease, others_lua}),
          .places = Script({begin_lua, basics_lua, places_lua}),
          .purge = Script({begin_lua, basics_lua, lease, purge_lua}),
          .job_enqueue = job(job_enqueue_lua),
          .job_claim = job(job_claim_lua),
          .job_renew = job(job_renew_lua),
          .job_finish = job(job_finish_lua),
          .job_list = job(job_list_lua),
          .job_change = job(job_change_lua),
          .job_tick = job(job_tick_lua),
          .job_purge = job(job_purge_lua)};
}

}  // namespace

const Scripts& scripts_for(Layout layout) {
  // Never destroyed: a client may live in a static object that was made before the first of them was needed.
  static const Scripts& own = *new Scripts(made_for(lease_own_lua, fast_path_lua));
  static const Scripts& beside = *new Scripts(made_for(lease_beside_lua, ""));
  return layout == Layout::own ? own : beside;
}

const Scripts& scripts_of(const StoreConfig& config) {
  return config.fixed_scripts ? *config.fixed_scripts : scripts_for(config.options.layout);
}

std::shared_ptr<const Scripts> scripts_at(Layout layout, Micros now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::string time =
      "{'" + std::to_string(seconds.count()) + "', '" + std::to_string(Micros(now - seconds).count()) + "'}";
  static constexpr std::string_view asks = "call('TIME')";  // in lua/begin.lua
  const auto fixed = [&](const Script& script) {
    std::string text = script.text;
    text.replace(text.find(asks), asks.size(), time);
    return Script(std::move(text));
  };
  const Scripts& scripts = scripts_for(layout);
  return std::make_shared<const Scripts>(Scripts{.apply = fixed(scripts.apply),
                                                 .leases = fixed(scripts.leases),
                                                 .others = scripts.others,
                                                 .places = fixed(scripts.places),
                                                 .purge = scripts.purge,
                                                 .job_enqueue = scripts.job_enqueue,
                                                 .job_claim = scripts.job_claim,
                                                 .job_renew = scripts.job_renew,
                                                 .job_finish = scripts.job_finish,
                                                 .job_list = scripts.job_list,
                                                 .job_change = scripts.job_change,
                                                 .job_tick = scripts.job_tick,
                                                 .job_purge = scripts.job_purge});
}

}  // namespace holdfast::redis
