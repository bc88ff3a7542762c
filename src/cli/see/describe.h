// SPDX-License-Identifier: Apache-2.0
// describe.h - rows of a store as cells and sentences for people.
#pragma once
#include "cli/columns.h"
#include "holdfast/admin.h"

namespace holdfast::cli {

// The time since it was granted; none if it is not held or the time is unknown.  `now` is of this host's wall
// clock, which may differ from the store's.
std::optional<Millis> held_for(const LeaseRow& row, Moment now);
std::string age_of(const LeaseRow& row, Moment now);  // "12m", or "-"
std::string left_of(const LeaseRow& row);

// Parts of a sentence about a lease.
std::string who(const std::string& owner);
std::string because(const std::string& detail);  // ": detail", or nothing
std::string with_token(Token token);             // ", token 17", or nothing

// What the holder does when this lease is broken, as far as the store can know: the store does not know which
// holders never renew.
std::string after_break(const LeaseRow& row);

// The store has a record of that key.  It forgets a key that has been free for long; some layouts forget it
// at once.
bool is_known(const Inspection& found);
inline constexpr const char* nothing_known =
    "the store has no record of it: it was never held, or was purged";

// Suggests on stderr the held key whose name is nearest to the unknown one, if one is near.
void suggest_held_key(Admin& store, const std::string& unknown);

// All about one key, in two columns: name and value.
Rows rows_of(const Inspection& found, Moment now);

}  // namespace holdfast::cli
