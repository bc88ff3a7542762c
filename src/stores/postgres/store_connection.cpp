// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/store_connection.h"

namespace holdfast::postgres {
PostgresStoreConnection::PostgresStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)), probe_{.tables = config_->tables}, statements_(config_->tables) {
  connect(until);
}

void PostgresStoreConnection::connect(Instant until) {
  auto connection = std::make_unique<Connection>(config_->settings, until);
  ServerProbe probe = probe_server(*connection, config_->tables, until);
  require_complete(probe, config_->name());
  if (probe.pooled) connection->stop_preparing();
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  uses_ = {};
  statements_ = Statements(probe.tables);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
}

std::optional<Error> PostgresStoreConnection::misfit(const Request& r) const {
  const auto fits = [](std::string_view text, std::size_t longest) {
    return longest == 0 || text.size() <= longest || rows::letters_in(text) <= longest;
  };
  if (!fits(r.key.text, probe_.longest_key))
    return does_not_fit(r.key.text, probe_.longest_key, "letters", "key", config_->tables.name());
  if (r.verb == Verb::acquire && !fits(r.owner.text, probe_.longest_owner))
    return does_not_fit(r.owner.text, probe_.longest_owner, "letters", "locked_by", config_->tables.name());
  return std::nullopt;
}

}  // namespace holdfast::postgres
