// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/certificates.h"

#include <filesystem>
#include <vector>

#include "tests/support/servers/guarded.h"

namespace holdfast::test {
namespace {

void openssl(std::vector<std::string> words) {
  words.insert(words.begin(), "openssl");
  run_to_end({.words = std::move(words)});
}

void make_key(const std::string& path) {
  openssl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path});
}

}  // namespace

Certificates::Certificates() {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const std::string key = folder_.path() + "/ca.key";
  make_key(key);
  openssl({"req", "-x509", "-new", "-key", key, "-out", authority(), "-subj", "/CN=Holdfast test authority",
           "-days", "2"});
}

Certificate Certificates::right() const {
  return issue("right", "/CN=localhost", "DNS:localhost,IP:127.0.0.1");
}

Certificate Certificates::wrong_name() const {
  return issue("wrong_name", "/CN=elsewhere.example", "DNS:elsewhere.example");
}

Certificate Certificates::expired() const {
  return issue("expired", "/CN=localhost", "DNS:localhost,IP:127.0.0.1",
               {"-startdate", "20200101000000Z", "-enddate", "20200102000000Z"});
}

Certificate Certificates::client(const std::string& name) const {
  return issue("client_" + name, "/CN=" + name, "DNS:" + name);
}

Certificate Certificates::self_signed() const {
  const std::string path = folder_.path() + "/self_signed";
  const Certificate made{path + ".crt", path + ".key"};
  if (std::filesystem::exists(made.certificate)) return made;
  make_key(made.key);
  openssl({"req", "-x509", "-new", "-key", made.key, "-out", made.certificate, "-subj", "/CN=localhost",
           "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"});
  return made;
}

// With `openssl ca`: the other commands that sign cannot be given a beginning in the past before OpenSSL 3.4,
// and since 3.5 no end before the beginning.
Certificate Certificates::issue(const std::string& file, const std::string& subject, const std::string& names,
                                const std::vector<std::string>& when) const {
  const std::string path = folder_.path() + "/" + file;
  const Certificate made{path + ".crt", path + ".key"};
  if (std::filesystem::exists(made.certificate)) return made;
  make_key(made.key);
  openssl({"req", "-new", "-key", made.key, "-out", path + ".csr", "-subj", subject});
  write_file(path + ".ext", "subjectAltName=" + names + "\n");
  write_file(path + ".index", "");
  write_file(path + ".conf",
             "[ca]\ndefault_ca = ours\n[ours]\nrand_serial = yes\ndefault_md = sha256\npolicy = names\n"
             "database = " +
                 path + ".index\nnew_certs_dir = " + folder_.path() + "\n[names]\ncommonName = supplied\n");
  std::vector<std::string> words = {"ca",          "-batch",       "-notext",
                                    "-config",     path + ".conf", "-cert",
                                    authority(),   "-keyfile",     folder_.path() + "/ca.key",
                                    "-in",         path + ".csr",  "-extfile",
                                    path + ".ext", "-out",         made.certificate};
  words.insert(words.end(), when.begin(), when.end());
  openssl(words);
  return made;
}

std::string openssl_missing() {
  return find_program("openssl").empty() ? "the openssl command is missing (Debian package openssl)" : "";
}

}  // namespace holdfast::test
