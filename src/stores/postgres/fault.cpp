// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/fault.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace holdfast::postgres {
namespace {

bool lacks_tables(std::string_view state) noexcept { return state == "42P01" || state == "3F000"; }

// By PL/pgSQL: RAISE, ASSERT, INTO STRICT.
bool was_raised(std::string_view state) noexcept { return state.starts_with("P0"); }

struct Refusal {
  std::string what, remedy;
};

// What everybody finds out at the next attempt too, until somebody changes it.
std::optional<Refusal> refusal(std::string_view state, const std::string& where) {
  const auto command = [&](const char* name) {
    return store_command(where.find("://") == std::string::npos ? "URL" : where, name);
  };
  if (state == "25006")
    return Refusal{
        "the server does not accept writes (it is a standby, or default_transaction_read_only is on)",
        "use the URL of the primary"};
  if (state == "42501")
    return Refusal{"this user lacks a privilege, or row security does not let it write the row",
                   "grant what docs/stores/postgres.md lists"};
  if (state == "42703" || state == "42P10")
    return Refusal{"a column or an index of the tables is missing",
                   "see which one with: " + command("doctor")};
  if (lacks_tables(state))
    return Refusal{"the tables are missing or incomplete", "create them with: " + command("init")};
  if (state == "3D000") return Refusal{"there is no such database", "create it, or name another one"};
  if (state == "22001")
    return Refusal{"a column is too narrow for this key or owner",
                   "give a shorter one, or make the column wider"};
  if (state == "22003" || state == "2200H")
    return Refusal{
        "a number in the tables is too large",
        "another program wrote it: look for the largest number in each column, and correct it while "
        "nobody works under that lease"};
  if (state == "22021" || state == "22P05")
    return Refusal{"the encoding of the database lacks a character",
                   "use other characters, or a database in UTF8"};
  if (state == "54000")
    return Refusal{"a key or another value is too long for an index of the tables", "give a shorter one"};
  if (was_raised(state))
    return Refusal{"a trigger on the tables refused the change", "change the trigger, or drop it"};
  if (state.starts_with("28"))
    return Refusal{"the server does not let this user log in",
                   "check the user, the password and pg_hba.conf"};
  if (state.starts_with("42") || state.starts_with("23"))
    return Refusal{"the tables are not as this version of Holdfast creates them",
                   "compare them with docs/stores/postgres.md"};
  return std::nullopt;
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

bool is_of_one_job(std::string_view state) noexcept { return state == "22001" || state == "54000"; }

Error statement_error(const Trouble& trouble, const std::string& where) {
  if (const auto refused = refusal(trouble.state, where))
    return {code_of_refusal(trouble.state),
            where + ": " + refused->what + ": " + words(trouble) + "; " + refused->remedy};
  if (may_pass(trouble.state))
    return {Errc::unavailable, where + ": the request failed and changed nothing: " + words(trouble)};
  return {Errc::in_doubt,
          where + ": the request failed, and it is not known whether it took effect: " + words(trouble)};
}

Error connect_error(const Trouble& trouble, const std::string& where) {
  if (const auto refused = refusal(trouble.state, where))
    return {code_of_refusal(trouble.state),
            where + ": " + refused->what + ": " + words(trouble) + "; " + refused->remedy};
  return {Errc::unavailable, "cannot connect to " + where + ": " + words(in_short(trouble))};
}

std::string state_in(std::string_view message) {
  for (std::size_t at = message.find(":  "); at != std::string_view::npos; at = message.find(":  ", at + 1)) {
    const std::string_view state = message.substr(at + 3, 5);
    const bool formed = state.size() == 5 && std::all_of(state.begin(), state.end(), [](char c) {
                          return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                        });
    if (formed && message.substr(at + 8).starts_with(": ")) return std::string(state);
  }
  return {};
}

std::string text_of(std::string_view message, const std::string& state) {
  std::string text(message.substr(0, message.find("\nLOCATION:")));
  if (const std::size_t at = text.find(":  " + state + ": "); !state.empty() && at != std::string::npos)
    text.erase(at + 1, state.size() + 3);
  return text;
}

bool says_cut(std::string_view message) {
  for (const int error : {ECONNRESET, EPIPE, ETIMEDOUT}) {
    if (message.find(std::strerror(error)) != std::string_view::npos) return true;
  }
  // The second: of a line that ended before the first word of TLS.
  return message.find("SYSCALL") != std::string_view::npos ||
         message.find("server closed the connection unexpectedly") != std::string_view::npos;
}

}  // namespace holdfast::postgres
