// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/store.h"

namespace holdfast::postgres {
PostgresStore::PostgresStore(std::shared_ptr<const Site> site, Instant until)
    : site_(std::move(site)), hello_{.tables = site_->tables}, statements_(site_->tables) {
  connect(until);
}

void PostgresStore::connect(Instant until) {
  auto connection = std::make_unique<Connection>(site_->settings, until);
  Hello hello = say_hello(*connection, site_->tables, until);
  require_complete(hello, site_->name());
  if (hello.pooled) connection->stop_preparing();
  offset_ = {};
  offset_.learn(hello.asked, hello.answered, hello.now);
  uses_ = {};
  statements_ = Statements(hello.tables);
  hello_ = std::move(hello);
  connection_ = std::move(connection);
}

std::optional<Error> PostgresStore::misfit(const Request& r) const {
  const auto fits = [](std::string_view text, std::size_t longest) {
    return longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest;
  };
  if (!fits(r.key.text, hello_.longest_key))
    return does_not_fit(r.key.text, hello_.longest_key, "letters", "key", site_->tables.name());
  if (r.verb == Verb::acquire && !fits(r.holder.text, hello_.longest_holder))
    return does_not_fit(r.holder.text, hello_.longest_holder, "letters", "locked_by", site_->tables.name());
  return std::nullopt;
}

}  // namespace holdfast::postgres
