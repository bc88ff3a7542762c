// SPDX-License-Identifier: Apache-2.0
// openssl.h - OpenSSL, which is loaded when it is first needed: by the first rediss:// URL.
#pragma once
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "holdfast/result.h"

namespace holdfast::redis {

// These hide OpenSSL's own names: a call, also one inside a macro of OpenSSL's, reads as it always does, and
// goes to what was loaded.
#define FUNCTION(name) extern decltype(&::name) name;
#include "stores/redis/libcrypto_functions.inc"
#include "stores/redis/libssl_functions.inc"
#undef FUNCTION

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libssl();
inline constexpr const char* libcrypto_soname = "libcrypto.so.3";

}  // namespace holdfast::redis
