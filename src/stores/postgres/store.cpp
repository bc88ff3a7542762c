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

// Never cut: two keys would become one.
void PostgresStore::require_fit(std::span<const Request> requests) const {
  if (hello_.longest_key == 0 && hello_.longest_holder == 0) return;
  const auto refuse = [&](const char* column, std::string_view text, std::size_t longest) {
    if (longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest) return;
    does_not_fit(text, longest, "letters", column, site_->tables.name());
  };
  for (const Request& r : requests) {
    refuse("key", r.key.text, hello_.longest_key);
    if (r.verb == Verb::acquire) refuse("locked_by", r.holder.text, hello_.longest_holder);
  }
}

}  // namespace holdfast::postgres
