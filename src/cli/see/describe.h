// SPDX-License-Identifier: Apache-2.0
// describe.h - what a store knows, in cells and lines for people.
#pragma once
#include "cli/output.h"
#include "holdfast/admin.h"

namespace holdfast::cli {

// The time since it was granted; none if it is not held or nobody knows.  The wall clock of whoever looks may
// be another than the store's.
std::optional<Millis> held_for(const LeaseRow& row, Moment now);
std::string age_of(const LeaseRow& row, Moment now);  // "12m", or "-"
std::string left_of(const LeaseRow& row);

// Parts of a sentence about a lease.
std::string who(const std::string& owner);
std::string because(const std::string& detail);  // ": detail", or nothing
std::string with_token(Token token);             // ", token 17", or nothing

// The store has heard of that key.  What has been free for long it forgets, and some layouts at once.
bool is_known(const Inspection& found);
inline constexpr const char* nothing_known =
    "the store has no record of it: it was never held, or was purged";

// Says which key that is held was meant by one that is not known, if one is near.
void suggest_held_key(Admin& store, const std::string& unknown);

// All about one key: what it is, and how it is.
Rows rows_of(const Inspection& found, Moment now);

}  // namespace holdfast::cli
