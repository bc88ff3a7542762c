// SPDX-License-Identifier: Apache-2.0
// tls_proxy.h - TLS in front of a server that cannot speak it: tls_proxy.js in node, a process of its own.
#pragma once
#include <string>

#include "tests/support/scratch.h"
#include "tests/support/servers/certificates.h"
#include "tests/support/servers/guarded.h"

namespace holdfast::test {

class TlsProxy {
 public:
  // For the server at a port of this machine.  With an `authority`, a file, only those with a certificate of
  // that authority are let in.  REQUIRES: node is installed.
  TlsProxy(int server, const Certificate& certificate, const std::string& authority = "");

  int port() const noexcept { return port_; }
  void pause();  // SIGSTOP: connections are taken by the system, nothing is answered

 private:
  const Scratch folder_;
  Guarded running_;
  int port_ = 0;
};

}  // namespace holdfast::test
