// SPDX-License-Identifier: Apache-2.0
// certificates.h - a certificate authority for one test.
#pragma once
#include <string>
#include <vector>

#include "tests/support/scratch.h"

namespace holdfast::test {

struct Certificate {
  std::string certificate, key;  // files, PEM; any user may read the certificate
};

// Each is made when first asked for, with the openssl command.
class Certificates {
 public:
  Certificates();

  std::string authority() const { return folder_.path() + "/ca.crt"; }
  Certificate right() const;        // for localhost and 127.0.0.1
  Certificate wrong_name() const;   // for elsewhere.example
  Certificate expired() const;      // for localhost, long ago
  Certificate self_signed() const;  // for localhost, but no authority stands behind it
  Certificate client(const std::string& name) const;

 private:
  Certificate issue(const std::string& file, const std::string& subject, const std::string& names,
                    const std::vector<std::string>& when = {"-days", "2"}) const;
  const Scratch folder_;
};

// Empty, or what to install.
std::string openssl_missing();

}  // namespace holdfast::test
