// SPDX-License-Identifier: Apache-2.0
// tls.h - TLS between memory and memory, with OpenSSL: the caller has the socket and moves the bytes.
//
// OpenSSL does no I/O of its own here: so no SIGPIPE, one place that waits, and nothing that was decrypted
// can stay behind where poll() does not see it.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "holdfast/redis.h"

struct ssl_ctx_st;
struct ssl_st;

namespace holdfast::redis {

// OpenSSL is loaded when it is first needed.  REQUIRES: before any other use of this.  Any thread may call
// it.
Status load_openssl();
inline constexpr const char* libcrypto_soname = "libcrypto.so.3";

// Whom to trust and who we are; read from the files once, at the first connection.  Any thread.
class TlsContext {
 public:
  explicit TlsContext(const Options& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get();  // throws Failure: refused

 private:
  const std::string cacert_, cert_, key_;
  std::mutex mutex_;
  ssl_ctx_st* context_ = nullptr;
};

// The client's end of one connection.  All throw Failure: refused for a server that is not whom we want,
// unavailable for bytes that make no sense.
class Tls {
 public:
  // `host` is the one that the certificate must name.
  Tls(TlsContext& context, const std::string& host);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Takes what came (at first: nothing) and appends what must be sent.  True: the server is who it should be.
  bool shake_hands(std::string_view received, std::string& to_send);

  void encrypt(std::string_view plain, std::string& to_send);
  // False: the server has closed the connection.
  bool decrypt(std::string_view received, std::string& plain);

 private:
  void take(std::string_view received);
  void give(std::string& to_send);

  const std::string host_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace holdfast::redis
