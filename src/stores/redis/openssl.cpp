// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/openssl.h"

#include "base/driver.h"

namespace holdfast::redis {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/redis/libcrypto_functions.inc"
#include "stores/redis/libssl_functions.inc"
#undef FUNCTION

Status load_libcrypto() {
  static Driver driver(libcrypto_soname, "libssl3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/redis/libcrypto_functions.inc"
#undef FUNCTION
                       });
  return driver.load();
}

Status load_libssl() {
  static Driver driver("libssl.so.3", "libssl3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/redis/libssl_functions.inc"
#undef FUNCTION
                       });
  if (Status s = load_libcrypto(); !s) return s;
  return driver.load();
}

}  // namespace holdfast::redis
