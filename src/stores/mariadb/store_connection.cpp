// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/store_connection.h"

#include <algorithm>

#include "base/text.h"
#include "stores/mariadb/sql/acquire.sql.h"
#include "stores/mariadb/sql/ahead.sql.h"
#include "stores/mariadb/sql/begin.sql.h"
#include "stores/mariadb/sql/lookup.sql.h"
#include "stores/mariadb/sql/make.sql.h"
#include "stores/mariadb/sql/read.sql.h"
#include "stores/mariadb/sql/release.sql.h"
#include "stores/mariadb/sql/renew.sql.h"

namespace holdfast::mariadb {
namespace {

// A statement that may have to wait for a row.
std::string waiting(const Tables& tables, std::string_view sql) { return "{patience}" + tables.expand(sql); }

}  // namespace

MariaStoreConnection::MariaStoreConnection(std::shared_ptr<const StoreConfig> config, Instant until)
    : config_(std::move(config)),
      acquire_(waiting(config_->tables, acquire_sql)),
      make_(waiting(config_->tables, make_sql)),
      renew_(waiting(config_->tables, renew_sql)),
      release_(waiting(config_->tables, release_sql)),
      look_(config_->tables.expand(lookup_sql)),
      ahead_(config_->tables.expand(ahead_sql)),
      read_(config_->tables.expand(begin_sql) + config_->tables.expand(read_sql)) {
  connect(until);
}

void MariaStoreConnection::connect(Instant until) {
  auto connection = std::make_unique<Connection>(*config_, until);
  ServerProbe probe = probe_server(*connection, *config_, until);
  require_complete(probe, *config_);
  offset_ = {};
  offset_.learn(probe.asked, probe.answered, probe.now);
  probe_ = std::move(probe);
  connection_ = std::move(connection);
}

std::optional<Error> MariaStoreConnection::misfit(const Request& r) const {
  const bool darwin = config_->tables.darwin();
  const auto too_long = [&](std::string_view text, std::size_t longest, const char* unit,
                            const char* column) {
    return does_not_fit(text, longest, unit, column, config_->tables.called("locks"));
  };
  if ((darwin ? rows::letters_in(r.key.text) : r.key.text.size()) > probe_.longest_key)
    return too_long(r.key.text, probe_.longest_key, darwin ? "letters" : "bytes", "key");
  if (r.verb == Verb::acquire && r.owner.text.size() > probe_.longest_owner)
    return too_long(r.owner.text, probe_.longest_owner, "bytes", "locked_by");
  return std::nullopt;
}

std::string MariaStoreConnection::wait_at_most(Millis patience) const {
  // MySQL has no such word; there a locked row is waited for a second, as probe.sql says.
  if (!probe_.mariadb()) return {};
  const std::string ms = std::to_string(1000 + std::clamp(patience, Millis(1), longest_patience).count());
  return "SET STATEMENT max_statement_time = 0." + ms.substr(1) + " FOR ";
}

MariaStoreConnection::Settled MariaStoreConnection::check(const std::optional<Trouble>& trouble) const {
  if (!trouble) return Settled::yes;
  if (was_overtaken(trouble->code)) return Settled::not_yet;
  if (was_locked(trouble->code)) return Settled::in_the_way;
  Error error = statement_error(*trouble, config_->name);
  if (was_about_values(trouble->code)) throw rows::NotTaken(std::move(error));
  throw_failure(std::move(error));
}

std::vector<core::KeyBatch> MariaStoreConnection::key_batches_of(std::span<const Request> requests) const {
  if (!config_->tables.darwin()) return core::key_batches(requests);
  // Which keys are one is the collation's to say: each travels alone, in the order given.
  std::vector<core::KeyBatch> key_batches;
  for (std::size_t i = 0; i < requests.size(); ++i) key_batches.push_back({i});
  return key_batches;
}

}  // namespace holdfast::mariadb
