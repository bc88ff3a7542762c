// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/fault.h"

namespace holdfast::postgres {
namespace {

bool lacks_tables(std::string_view state) noexcept { return state == "42P01" || state == "3F000"; }

// By PL/pgSQL: RAISE, ASSERT, INTO STRICT.
bool was_raised(std::string_view state) noexcept { return state.starts_with("P0"); }

// What everybody finds out at the next attempt too, until somebody changes it; empty: not such a thing.
std::string refusal(std::string_view state) {
  if (state == "25006")
    return "it does not take writes (a standby, or default_transaction_read_only); leases have to be written "
           "down: give the primary";
  if (state == "42501")
    return "this user lacks a privilege, or row security does not let it write that row; "
           "docs/stores/postgres.md has the grants it needs";
  if (state == "42703" || state == "42P10")
    return "a column or an index of its tables is not there; what is missing is said when one connects anew";
  if (lacks_tables(state))
    return "its tables are not there, or not complete; `holdfast --store … init` makes them";
  if (state == "3D000") return "there is no such database";
  if (state == "22001") return "a column of its tables is too narrow for this key or holder";
  if (state == "22003" || state == "2200H") return "a number in its tables is at the end of all numbers";
  if (state == "22021" || state == "22P05") return "its encoding does not have these letters";
  if (state == "54000") return "a key or another value is too long for an index of its tables";
  if (was_raised(state)) return "a trigger of its tables does not take it";
  if (state.starts_with("28")) return "it does not let this user in";
  if (state.starts_with("42") || state.starts_with("23"))
    return "its tables are not as this version makes them";
  return {};
}

// The statement was undone, and may succeed later.
bool may_pass(std::string_view state) noexcept {
  return is_contention(state) || state == "57014"  // cancelled by somebody, or by statement_timeout
         || state == "57P03"                       // starting up, or shutting down
         || state == "0A000"                       // a cached plan met changed tables
         || state.starts_with("53");               // out of disk, memory or connections
}

Errc code_of_refusal(std::string_view state) noexcept {
  return lacks_tables(state) ? Errc::unprepared : Errc::refused;
}

std::string words(const Trouble& trouble) {
  return trouble.state.empty() ? trouble.text : trouble.text + " (" + trouble.state + ")";
}

// The driver says again where to, and asks what people ask themselves.
Trouble in_short(Trouble trouble) {
  std::string& text = trouble.text;
  constexpr std::string_view question = "; Is the server running ";
  for (std::size_t at = 0; (at = text.find(question, at)) != std::string::npos;) {
    const std::size_t end = text.find('?', at);
    text.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
  constexpr std::string_view where = "connection to server ", then = " failed: ";
  const std::size_t why = text.find(then);
  const bool once = text.starts_with(where) && text.find(where, 1) == std::string::npos;
  if (once && why != std::string::npos) text.erase(0, why + then.size());
  return trouble;
}

}  // namespace

bool is_contention(std::string_view state) noexcept {
  return state == "55P03" || state == "40P01" || state == "40001";
}

// Data exceptions, constraints, indexes, triggers, and row security (which has the state of a privilege that
// is missing).
bool is_about_values(std::string_view state) noexcept {
  return state.starts_with("22") || state.starts_with("23") || state == "54000" || state == "42501" ||
         was_raised(state);
}

Error statement_error(const Trouble& trouble, const std::string& where) {
  if (const std::string why = refusal(trouble.state); !why.empty())
    return {code_of_refusal(trouble.state), where + ": " + why + ": " + words(trouble)};
  if (may_pass(trouble.state)) return {Errc::unavailable, where + " changed nothing: " + words(trouble)};
  return {Errc::in_doubt, where + " did not say what it did: " + words(trouble)};
}

Error connect_error(const Trouble& trouble, const std::string& where) {
  if (const std::string why = refusal(trouble.state); !why.empty())
    return {code_of_refusal(trouble.state), where + ": " + why + ": " + words(trouble)};
  return {Errc::unavailable, "cannot connect to " + where + ": " + words(in_short(trouble))};
}

}  // namespace holdfast::postgres
