// SPDX-License-Identifier: Apache-2.0
// settings.h - how to reach a database: what the caller says, and what libpq and we add to it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "stores/postgres/address.h"

namespace holdfast::postgres {

class Settings {
 public:
  // `conninfo` as libpq takes it: a URL, or "host=… dbname=…"; `more` are words of the same kind and win.
  // What is not given comes from where libpq users expect it: PGHOST and the like, a service file, .pgpass.
  // Where no sslmode is given and a host is not local: verify-full, with the system's certificates.
  //
  // Errc::invalid for what libpq cannot read, a word or a value that it does not know, a service that is
  // nowhere.
  static Result<Settings> from(const std::string& conninfo, const Words& more);

  // What libpq is told.
  const Words& words() const noexcept { return words_; }

  // postgres://USER@HOST/DATABASE, without any secret.
  const std::string& name() const noexcept { return name_; }
  const std::string& database() const noexcept { return database_; }

  // A server that speaks TLS has to show a certificate of an authority that we know.
  bool verifies() const noexcept { return verifies_; }

  // Somebody's words, fit for people: one line, nothing that ought to be hidden.
  std::string shown(std::string_view text) const;

 private:
  Settings() = default;
  Status look_up();

  Words words_;
  std::vector<std::string> secrets_;
  std::string name_, database_;
  bool verifies_ = false;
};

}  // namespace holdfast::postgres
