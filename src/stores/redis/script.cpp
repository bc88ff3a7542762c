// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/script.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

#include "stores/redis/lua/apply.lua.h"
#include "stores/redis/lua/leases.lua.h"
#include "stores/redis/lua/places.lua.h"
#include "stores/redis/lua/purge.lua.h"

namespace holdfast::redis {
namespace {

std::string sha1_of(std::string_view text) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);  // as in tls.cpp: whoever comes first decides
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) out.append({hex[byte >> 4], hex[byte & 15]});
  return out;
}

}  // namespace

Script::Script(std::string_view lua) : text(lua), hash(sha1_of(lua)) {}

// Never destroyed: a client may live in a static object that was made before the first of them was needed.
const Script& apply_script() {
  static const Script& script = *new Script(apply_lua);
  return script;
}

const Script& leases_script() {
  static const Script& script = *new Script(leases_lua);
  return script;
}

const Script& places_script() {
  static const Script& script = *new Script(places_lua);
  return script;
}

const Script& purge_script() {
  static const Script& script = *new Script(purge_lua);
  return script;
}

}  // namespace holdfast::redis
