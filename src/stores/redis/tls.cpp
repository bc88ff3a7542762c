// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/tls.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>

#include "base/driver.h"
#include "base/text.h"

namespace holdfast::redis {
namespace {

// The functions that are used.
// clang-format off
#define HOLDFAST_LIBCRYPTO(FUNCTION) \
  FUNCTION(BIO_ctrl) \
  FUNCTION(BIO_ctrl_pending) \
  FUNCTION(BIO_free) \
  FUNCTION(BIO_new) \
  FUNCTION(BIO_read) \
  FUNCTION(BIO_s_mem) \
  FUNCTION(BIO_write) \
  FUNCTION(ERR_clear_error) \
  FUNCTION(ERR_peek_last_error) \
  FUNCTION(ERR_reason_error_string) \
  FUNCTION(X509_VERIFY_PARAM_set1_ip_asc) \
  FUNCTION(X509_verify_cert_error_string)
#define HOLDFAST_LIBSSL(FUNCTION) \
  FUNCTION(OPENSSL_init_ssl) \
  FUNCTION(SSL_CTX_check_private_key) \
  FUNCTION(SSL_CTX_ctrl) \
  FUNCTION(SSL_CTX_free) \
  FUNCTION(SSL_CTX_load_verify_locations) \
  FUNCTION(SSL_CTX_new) \
  FUNCTION(SSL_CTX_set_default_verify_paths) \
  FUNCTION(SSL_CTX_set_verify) \
  FUNCTION(SSL_CTX_up_ref) \
  FUNCTION(SSL_CTX_use_PrivateKey_file) \
  FUNCTION(SSL_CTX_use_certificate_chain_file) \
  FUNCTION(SSL_ctrl) \
  FUNCTION(SSL_do_handshake) \
  FUNCTION(SSL_free) \
  FUNCTION(SSL_get0_param) \
  FUNCTION(SSL_get_error) \
  FUNCTION(SSL_get_rbio) \
  FUNCTION(SSL_get_verify_result) \
  FUNCTION(SSL_get_wbio) \
  FUNCTION(SSL_new) \
  FUNCTION(SSL_read) \
  FUNCTION(SSL_set1_host) \
  FUNCTION(SSL_set_bio) \
  FUNCTION(SSL_set_connect_state) \
  FUNCTION(SSL_write) \
  FUNCTION(TLS_client_method)
// clang-format on

// These hide OpenSSL's own names: a call, also one inside a macro of OpenSSL's, reads as it always does, and
// goes to what was loaded.
#define HOLDFAST_DEFINE(name) decltype(&::name) name = nullptr;
HOLDFAST_LIBCRYPTO(HOLDFAST_DEFINE)
HOLDFAST_LIBSSL(HOLDFAST_DEFINE)
#undef HOLDFAST_DEFINE

// The last of OpenSSL's reasons; empties its queue of errors.
std::string reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(code);
  ERR_clear_error();
  return text != nullptr ? printable(text) : "OpenSSL gave no reason";
}

[[noreturn]] void refuse(const std::string& what) { throw_failure({Errc::refused, what}); }

bool is_number(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored;
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

void read_files(SSL_CTX* context, const std::string& cacert, const std::string& cert,
                const std::string& key) {
  if (cacert.empty() ? SSL_CTX_set_default_verify_paths(context) != 1
                     : SSL_CTX_load_verify_locations(context, cacert.c_str(), nullptr) != 1)
    refuse("cannot read the certificates to trust" +
           (cacert.empty() ? std::string() : " in " + printable(cacert)) + ": " + reason() +
           "; give a PEM file with cacert=");
  if (cert.empty()) return;
  if (SSL_CTX_use_certificate_chain_file(context, cert.c_str()) != 1)
    refuse("cannot read the client certificate in " + printable(cert) + ": " + reason() +
           "; give a PEM file with cert=");
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    refuse("cannot use the key in " + printable(key) + " with the certificate in " + printable(cert) + ": " +
           reason() + "; give a PEM file without a passphrase with key=");
}

}  // namespace

Status load_openssl() {
#define HOLDFAST_FIND(name) {#name, &name},
  static Driver crypto(libcrypto_soname, "libssl3", {HOLDFAST_LIBCRYPTO(HOLDFAST_FIND)});
  static Driver ssl("libssl.so.3", "libssl3", {HOLDFAST_LIBSSL(HOLDFAST_FIND)});
#undef HOLDFAST_FIND
  if (Status s = crypto.load(); !s) return s;
  return ssl.load();
}

TlsContext::TlsContext(const Options& options)
    : cacert_(options.cacert), cert_(options.cert), key_(options.key) {}

TlsContext::~TlsContext() {
  if (context_ != nullptr) SSL_CTX_free(context_);
}

ssl_ctx_st* TlsContext::get() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) return context_;
  load_openssl().value();
  // A client may live in a static object, and be used after main(): OpenSSL must not be gone by then.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  const std::unique_ptr<SSL_CTX, decltype(SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                 SSL_CTX_free);
  if (!context) refuse("cannot start OpenSSL: " + reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
  read_files(context.get(), cacert_, cert_, key_);
  SSL_CTX_up_ref(context.get());
  return context_ = context.get();
}

Tls::Tls(TlsContext& context, const std::string& host) : host_(host), ssl_(SSL_new(context.get())) {
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    SSL_free(ssl_);
    throw std::bad_alloc();
  }
  BIO_set_mem_eof_return(in, -1);  // nothing there yet is not the end
  SSL_set_bio(ssl_, in, out);
  SSL_set_connect_state(ssl_);
  const bool fits = is_number(host) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str()) == 1
                                    : SSL_set1_host(ssl_, host.c_str()) == 1 &&
                                          SSL_set_tlsext_host_name(ssl_, host.c_str());
  if (!fits) {
    SSL_free(ssl_);
    refuse("no TLS connection to \"" + printable(host) +
           "\": a certificate cannot contain that name; give another name of the host");
  }
}

// Sends no close_notify: after a fork() the connection may belong to another process.
Tls::~Tls() { SSL_free(ssl_); }

void Tls::take(std::string_view received) {
  while (!received.empty()) {
    const int chunk = static_cast<int>(std::min<std::size_t>(received.size(), INT_MAX));
    const int taken = BIO_write(SSL_get_rbio(ssl_), received.data(), chunk);
    if (taken <= 0) throw std::bad_alloc();
    received.remove_prefix(static_cast<std::size_t>(taken));
  }
}

void Tls::give(std::string& to_send) {
  BIO* const out = SSL_get_wbio(ssl_);
  const std::size_t pending = BIO_ctrl_pending(out);
  if (pending == 0) return;
  const std::size_t before = to_send.size();
  to_send.resize(before + pending);
  const int given = BIO_read(out, to_send.data() + before, static_cast<int>(pending));
  to_send.resize(before + static_cast<std::size_t>(std::max(given, 0)));
}

bool Tls::shake_hands(std::string_view received, std::string& to_send) {
  take(received);
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_, done);
  give(to_send);
  if (done == 1) return true;
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
  if (const long bad = SSL_get_verify_result(ssl_); bad != X509_V_OK) {
    ERR_clear_error();
    refuse("the server's certificate is not accepted for \"" + printable(host_) +
           "\": " + X509_verify_cert_error_string(bad) +
           "; if its authority is unknown, name it with cacert=FILE; if the name differs, use the name in "
           "the certificate");
  }
  const int code = ERR_GET_REASON(ERR_peek_last_error());
  if (code == SSL_R_WRONG_VERSION_NUMBER)
    refuse("the server does not speak TLS 1.2 or newer on this port (" + reason() +
           "); write redis:// instead of rediss:// if you want no TLS");
  refuse("no TLS connection to \"" + printable(host_) + "\": " + reason());
}

void Tls::encrypt(std::string_view plain, std::string& to_send) {
  while (!plain.empty()) {
    ERR_clear_error();
    const int chunk = static_cast<int>(std::min<std::size_t>(plain.size(), INT_MAX));
    const int written = SSL_write(ssl_, plain.data(), chunk);
    if (written <= 0) throw_failure({Errc::unavailable, "the TLS connection failed: " + reason()});
    plain.remove_prefix(static_cast<std::size_t>(written));
  }
  give(to_send);
}

bool Tls::decrypt(std::string_view received, std::string& plain) {
  take(received);
  while (true) {
    std::array<char, 16384> part;
    ERR_clear_error();
    const int read = SSL_read(ssl_, part.data(), static_cast<int>(part.size()));
    if (read > 0) {
      plain.append(part.data(), static_cast<std::size_t>(read));
      continue;
    }
    switch (SSL_get_error(ssl_, read)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE: return true;
      case SSL_ERROR_ZERO_RETURN: return false;
    }
    throw_failure({Errc::unavailable, "the TLS connection failed: " + reason()});
  }
}

}  // namespace holdfast::redis
