// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/fault.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "base/text.h"

namespace holdfast::mariadb {
namespace {

bool one_of(unsigned code, std::initializer_list<unsigned> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool lacks_tables(unsigned code) { return one_of(code, {1051, 1146, 1932}); }

// By SIGNAL in a trigger.
bool was_signalled(unsigned code) { return one_of(code, {1643, 1644}); }

struct Refusal {
  std::string what, remedy;
};

// What everybody finds out at the next attempt too, until somebody changes it.
std::optional<Refusal> refusal(unsigned code, const std::string& where) {
  if (takes_no_writes(code))
    return Refusal{"the server does not accept writes (it is a replica, or read_only is on)",
                   "use the URL of the primary"};
  if (was_denied(code))
    return Refusal{"this user lacks a privilege", "grant what docs/stores/mariadb.md lists"};
  if (one_of(code, {1045, 1129, 1130, 1251, 1275, 1396, 1524, 1698, 1820, 1862, 3118, 3159, 3955, 4151}))
    return Refusal{"the server does not let this user log in",
                   "check the user, the password and whether the user may connect from this machine"};
  if (code == 1049) return Refusal{"there is no such database", "create it, or name another one"};
  if (lacks_tables(code))
    return Refusal{"the tables are missing or incomplete",
                   "create them with: " + store_command(where, "init")};
  if (code == 1665)
    return Refusal{"leases do not work with a binary log in the format STATEMENT",
                   "set binlog_format = ROW or MIXED"};
  if (code == 1406)
    return Refusal{"a column is too narrow for this key or owner",
                   "give a shorter one, or make the column wider"};
  if (one_of(code, {1267, 1271, 1300, 3854}))
    return Refusal{"the character set of the tables lacks a character",
                   "use other characters, or change the character set"};
  if (was_signalled(code))
    return Refusal{"a trigger on the tables refused the change", "change the trigger, or drop it"};
  if (one_of(code, {1264, 1690}))
    return Refusal{
        "a number in the tables is too large",
        "another program wrote it: look for the largest number in each column, and correct it while "
        "nobody works under that lease"};
  if (one_of(code, {1030, 1286}))
    return Refusal{"the server cannot use the tables", "see the server's error log"};
  if (one_of(code, {1048, 1054, 1062, 1064, 1136, 1292, 1364, 1366, 1451, 1452, 3819, 4025}))
    return Refusal{"the tables are not as this version of Holdfast creates them",
                   "compare them with docs/stores/mariadb.md"};
  return std::nullopt;
}

// The statement was undone, and may succeed later.
bool may_pass(unsigned code) noexcept {
  return was_overtaken(code) || was_locked(code) ||
         one_of(code, {1021, 1037, 1040, 1041, 1114, 1135, 1153, 1203, 1206, 1226, 1242, 1047, 3170});
}

Errc code_of_refusal(unsigned code) { return lacks_tables(code) ? Errc::unprepared : Errc::refused; }

// The driver ends its own words by the number of the system's error.
std::string system_error_in(const Trouble& trouble) {
  const std::size_t open = trouble.text.rfind('(');
  int number = 0;
  if (trouble.code < 2000 || open == std::string::npos || !trouble.text.ends_with(')')) return {};
  const char* const end = trouble.text.data() + trouble.text.size() - 1;
  const auto [to, error] = std::from_chars(trouble.text.data() + open + 1, end, number);
  return error == std::errc{} && to == end && number > 0 ? std::string(": ") + std::strerror(number) : "";
}

std::string words(const Trouble& trouble) {
  return trouble.text + system_error_in(trouble) + " (" + std::to_string(trouble.code) + ")";
}

// Of a server that is not there the driver says again where it was looked for.
std::string connect_words(const Trouble& trouble) {
  const std::string why = system_error_in(trouble);
  const bool not_there = one_of(trouble.code, {2002, 2003}) && !why.empty();
  return not_there ? why.substr(2) + " (" + std::to_string(trouble.code) + ")" : words(trouble);
}

}  // namespace

bool was_overtaken(unsigned code) noexcept { return one_of(code, {1020, 1062, 1213, 1412}); }

bool was_locked(unsigned code) noexcept { return one_of(code, {1205, 1969, 3024, 3572}); }

bool takes_no_writes(unsigned code) noexcept { return one_of(code, {1290, 1792, 1836, 3100}); }

bool was_denied(unsigned code) noexcept { return one_of(code, {1044, 1142, 1143, 1227, 1370}); }

// Too long, out of range, letters that a character set lacks, constraints, triggers.
bool was_about_values(unsigned code) noexcept {
  return was_signalled(code) ||
         one_of(code, {1048, 1264, 1267, 1271, 1292, 1300, 1366, 1406, 1451, 1452, 1690, 3819, 3854, 4025});
}

// 1927, 4031: the server's farewell.  1053, 1080: it is going down.
bool is_connection_lost(unsigned code) noexcept {
  return (code >= 2000 && code < 3000) || (code >= 5000 && code < 6000) ||
         one_of(code, {1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031});
}

Error statement_error(const Trouble& trouble, const std::string& where) {
  if (const auto refused = refusal(trouble.code, where))
    return {code_of_refusal(trouble.code),
            where + ": " + refused->what + ": " + words(trouble) + "; " + refused->remedy};
  if (may_pass(trouble.code))
    return {Errc::unavailable, where + ": the request failed and changed nothing: " + words(trouble)};
  return {Errc::in_doubt,
          where + ": the request failed, and it is not known whether it took effect: " + words(trouble)};
}

Error connect_error(const Trouble& trouble, const std::string& where) {
  if (const auto refused = refusal(trouble.code, where))
    return {code_of_refusal(trouble.code),
            where + ": " + refused->what + ": " + words(trouble) + "; " + refused->remedy};
  return {Errc::unavailable, "cannot connect to " + where + ": " + connect_words(trouble)};
}

}  // namespace holdfast::mariadb
