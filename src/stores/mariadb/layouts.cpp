// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/layouts.h"

#include <limits>
#include <utility>

namespace holdfast::mariadb {
namespace {

// What no request can have: a name has no NUL in it.
const std::string no_owner(1, '\0');
constexpr Token no_grant{std::numeric_limits<std::uint64_t>::max()};

}  // namespace

void ForeignRow::hide(core::Record& record, std::string shown) {
  live_ = std::move(shown);
  record.owner = no_owner;
  record.token = no_grant;
}

void ForeignRow::correct(core::Outcome& outcome) const {
  if (foreign_ && outcome.log) outcome.log->token = no_token;
  if (live_.empty()) return;
  outcome.reply.owner = live_;
  outcome.reply.token = no_token;
}

const ForeignLayout* foreign_layout(Layout layout) {
  switch (layout) {
    case Layout::own: return nullptr;
    case Layout::darwin: return &darwin_layout;
    case Layout::shedlock: return &shedlock_layout;
  }
  return nullptr;
}

Layout layout_named(std::string_view name) {
  for (const Layout layout : {Layout::darwin, Layout::shedlock})
    if (foreign_layout(layout)->name == name) return layout;
  return Layout::own;
}

}  // namespace holdfast::mariadb
