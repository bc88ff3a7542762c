// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/openssl.h"

#include "base/driver.h"

namespace holdfast::redis {

#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "stores/redis/libcrypto_functions.inc"
#include "stores/redis/libssl_functions.inc"
#undef FUNCTION

Status load_libssl() {
  static Driver crypto(libcrypto_soname, "libssl3",
                       {
#define FUNCTION(name) {#name, &name},
#include "stores/redis/libcrypto_functions.inc"
                       });
  static Driver ssl("libssl.so.3", "libssl3",
                    {
#include "stores/redis/libssl_functions.inc"
#undef FUNCTION
                    });
  if (Status s = crypto.load(); !s) return s;
  return ssl.load();
}

}  // namespace holdfast::redis
