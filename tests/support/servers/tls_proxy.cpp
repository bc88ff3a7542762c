// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/tls_proxy.h"

#include <signal.h>

#include <stdexcept>

#include "tests/support/await.h"
#include "tests/support/freeze.h"

namespace holdfast::test {
namespace {

Program proxy(int server, const Certificate& certificate, const std::string& authority,
              const std::string& folder) {
  Program program{.words = {find_program("node"), HOLDFAST_TLS_PROXY, std::to_string(server),
                            certificate.certificate, certificate.key},
                  .log = folder + "/log",
                  .folder = folder,
                  .end_signal = SIGKILL};
  if (!authority.empty()) program.words.push_back(authority);
  return program;
}

}  // namespace

TlsProxy::TlsProxy(int server, const Certificate& certificate, const std::string& authority)
    : running_(proxy(server, certificate, authority, folder_.path())) {
  std::string said;
  const bool ready = await([&] {
    said = running_.said();
    return said.ends_with('\n') || running_.ended();
  });
  if (!ready || !said.starts_with("ready ")) throw std::runtime_error("no TLS proxy; it said:\n" + said);
  port_ = std::stoi(said.substr(said.find(' ')));
}

void TlsProxy::pause() { freeze(running_.pid()); }

}  // namespace holdfast::test
