// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/store.h"

#include <algorithm>

#include "base/text.h"
#include "stores/mariadb/sql/acquire.sql.h"
#include "stores/mariadb/sql/ahead.sql.h"
#include "stores/mariadb/sql/begin.sql.h"
#include "stores/mariadb/sql/look.sql.h"
#include "stores/mariadb/sql/make.sql.h"
#include "stores/mariadb/sql/read.sql.h"
#include "stores/mariadb/sql/release.sql.h"
#include "stores/mariadb/sql/renew.sql.h"

namespace holdfast::mariadb {
namespace {

// A statement that may have to wait for a row.
std::string waiting(const Tables& tables, std::string_view sql) { return "{patience}" + tables.expand(sql); }

}  // namespace

MariaStore::MariaStore(std::shared_ptr<const Site> site, Instant until)
    : site_(std::move(site)),
      acquire_(waiting(site_->tables, acquire_sql)),
      make_(waiting(site_->tables, make_sql)),
      renew_(waiting(site_->tables, renew_sql)),
      release_(waiting(site_->tables, release_sql)),
      look_(site_->tables.expand(look_sql)),
      ahead_(site_->tables.expand(ahead_sql)),
      read_(site_->tables.expand(begin_sql) + site_->tables.expand(read_sql)) {
  connect(until);
}

void MariaStore::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*site_, until);
  Hello hello = say_hello(*connection, *site_, until);
  require_complete(hello, *site_);
  offset_ = {};
  offset_.learn(hello.asked, hello.answered, hello.now);
  hello_ = std::move(hello);
  connection_ = std::move(connection);
}

std::optional<Error> MariaStore::misfit(const Request& r) const {
  const bool darwin = site_->tables.darwin();
  const auto too_long = [&](std::string_view text, std::size_t longest, const char* unit,
                            const char* column) {
    return does_not_fit(text, longest, unit, column, site_->tables.called("locks"));
  };
  if ((darwin ? rows::letters_in(r.key.text) : r.key.text.size()) > hello_.longest_key)
    return too_long(r.key.text, hello_.longest_key, darwin ? "letters" : "bytes", "key");
  if (r.verb == Verb::acquire && r.holder.text.size() > hello_.longest_holder)
    return too_long(r.holder.text, hello_.longest_holder, "bytes", "locked_by");
  return std::nullopt;
}

std::string MariaStore::wait_at_most(Millis patience) const {
  // MySQL has no such word; there a locked row is waited for a second, as hello.sql says.
  if (!hello_.mariadb()) return {};
  const std::string ms = std::to_string(1000 + std::clamp(patience, Millis(1), longest_patience).count());
  return "SET STATEMENT max_statement_time = 0." + ms.substr(1) + " FOR ";
}

MariaStore::Settled MariaStore::check(const std::optional<Trouble>& trouble) const {
  if (!trouble) return Settled::yes;
  if (was_overtaken(trouble->code)) return Settled::not_yet;
  if (was_locked(trouble->code)) return Settled::in_the_way;
  Error error = statement_error(*trouble, site_->name);
  if (was_about_values(trouble->code)) throw rows::NotTaken(std::move(error));
  raise(std::move(error));
}

std::vector<core::Wave> MariaStore::waves_of(std::span<const Request> requests) const {
  if (!site_->tables.darwin()) return core::waves(requests);
  // Which keys are one is the collation's to say: each travels alone, in the order given.
  std::vector<core::Wave> waves;
  for (std::size_t i = 0; i < requests.size(); ++i) waves.push_back({i});
  return waves;
}

}  // namespace holdfast::mariadb
