// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/sweep.h"

#include "stores/sqlite/rows.h"

namespace holdfast::sqlite {
namespace {

// No key begins so: it is no UTF-8.
constexpr const char* behind_all_keys = "\xff";

std::uint64_t count(Cursor cursor) { return static_cast<std::uint64_t>(cursor.finish()); }

}  // namespace

Sweep::Part Sweep::part_behind(std::string key) {
  Cursor cursor = connection_.run(Sql::part, std::string_view(key));
  const bool last = !cursor.next();
  std::string up_to = last ? behind_all_keys : std::string(cursor.text(0));
  return {std::move(key), std::move(up_to), last};
}

Purged Sweep::sweep(const Part& part, Millis free_for) {
  const std::string_view behind = part.behind, up_to = part.up_to;
  Purged purged;
  purged.places = count(connection_.run(Sql::purge_places, behind, up_to));
  // Never: the difference is NULL, and so nothing is older.
  connection_.run(Sql::note_purged, behind, up_to, core::length_of(free_for)).finish();
  purged.keys = count(connection_.run(Sql::purge_keys, behind, up_to, core::length_of(free_for)));
  connection_.run(Sql::purge_facts, behind, up_to).finish();
  return purged;
}

void Sweep::next_part() {
  std::string swept;
  {
    Cursor cursor = connection_.run(Sql::swept);
    if (cursor.next()) swept = cursor.text(0);
  }
  const Part part = part_behind(std::move(swept));
  sweep(part, Purge{}.free_for);
  connection_.run(Sql::trim_log).finish();
  connection_.run(Sql::note_swept, part.last ? std::string_view() : std::string_view(part.up_to)).finish();
}

Purged Sweep::all(const Purge& what, const std::function<void()>& between) {
  Purged all;
  for (Part part; !part.last; between()) {
    Transaction transaction(connection_);
    part = part_behind(std::move(part.up_to));
    const Purged some = sweep(part, what.free_for);
    transaction.commit();
    all.keys += some.keys;
    all.places += some.places;
  }
  Transaction transaction(connection_);
  all.log = count(connection_.run(Sql::purge_log, core::length_of(what.log_older_than)));
  transaction.commit();
  return all;
}

}  // namespace holdfast::sqlite
