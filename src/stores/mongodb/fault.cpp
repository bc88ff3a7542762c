// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/fault.h"

#include <algorithm>

#include "base/text.h"

namespace holdfast::mongodb {
namespace {

struct Meaning {
  std::int64_t code;
  Errc errc;
  const char* what;  // and behind a semicolon, what to do
};

constexpr const char* no_primary =
    "the server is not the primary; name the whole replica set with replicaSet=";
constexpr const char* going = "the server is shutting down, or is no longer the primary";
constexpr const char* took_too_long = "the request did not end in time";
constexpr const char* not_safe_yet = "a majority has not confirmed the write";
constexpr const char* damaged =
    "MongoDB cannot use a field of the document of this key; look at the document and repair it";
constexpr const char* too_large = "the document would be too large; remove what it does not need";
constexpr const char* odd_collection =
    "leases cannot be kept in this collection; name another one with collection=";

// A write is one document each: it happened wholly or not at all.  (Renewals of many keys are one update: see
// MongoStoreConnection::update.)  What the server says before it has begun is unavailable or refused; what it
// may say while or after it wrote is in doubt.
constexpr Meaning meanings[] = {
    {13, Errc::refused, "this user lacks a right; grant what docs/stores/mongodb.md lists"},
    {18, Errc::refused, "the user or the password is wrong; check both, and authSource="},
    {8000, Errc::refused, "the user or the password is wrong; check both"},
    {10107, Errc::unavailable, no_primary},
    {13435, Errc::unavailable, no_primary},
    {10058, Errc::unavailable, no_primary},
    {189, Errc::in_doubt, going},
    {91, Errc::in_doubt, going},
    {11600, Errc::in_doubt, going},
    {11602, Errc::in_doubt, going},
    {50, Errc::in_doubt, took_too_long},
    {262, Errc::in_doubt, took_too_long},
    {64, Errc::in_doubt, not_safe_yet},
    {79, Errc::in_doubt, not_safe_yet},
    {100, Errc::in_doubt, not_safe_yet},
    {24, Errc::unavailable, "another client has locked the collection"},
    {112, Errc::unavailable, "another client writes the same document"},
    {11000, Errc::unavailable, "another client creates the same document"},
    {14031, Errc::unavailable, "the server's disk is full; make room there"},
    {59, Errc::refused, "the server lacks a command; use MongoDB 5.0 or later"},
    {26, Errc::refused, "there is no such collection"},
    {73, Errc::refused, "MongoDB does not accept the name of the database or collection; use another name"},
    {121, Errc::refused,
     "a validator of the collection refuses the document; change it, or name another collection"},
    {10334, Errc::refused, too_large},
    {17419, Errc::refused, too_large},
    {17420, Errc::refused, too_large},
    {166, Errc::refused, odd_collection},
    {20, Errc::refused, odd_collection},
};

std::string without_secrets(std::string_view text, const StoreConfig& config) {
  std::string clean(text);
  for (const std::string& secret : config.secrets) {
    for (std::size_t at = 0; !secret.empty() && (at = clean.find(secret, at)) != std::string::npos; at += 3)
      clean.replace(at, secret.size(), "***");
  }
  return printable(clean.substr(0, 300));
}

// The driver says how it looked for a server, and in brackets what came of each.
std::string reasons_in(const std::string& words) {
  const std::size_t open = words.find(": [");
  if (!words.starts_with("No s") || open == std::string::npos) return words;
  std::string reasons = words.substr(open + 3);
  for (std::size_t at = 0; (at = reasons.find("] [", at)) != std::string::npos;) reasons.replace(at, 3, "; ");
  if (reasons.ends_with(']')) reasons.pop_back();
  return reasons;
}

Error server_error(std::int64_t code, std::string_view words, Errc otherwise, const StoreConfig& config) {
  const std::string begin = config.place + ": ";
  const std::string said = without_secrets(words, config) + ", code " + std::to_string(code);
  const auto known = std::find_if(std::begin(meanings), std::end(meanings),
                                  [&](const Meaning& m) { return m.code == code; });
  constexpr Meaning of_document{0, Errc::refused, damaged};
  const bool is_known = known != std::end(meanings);
  const bool wrote = otherwise == Errc::in_doubt;  // a document, and the server has not changed it
  if (!is_known && !(wrote && is_about_document(code)))
    return {otherwise, begin + "error from the server: " + said};
  const Meaning& meaning = is_known ? *known : of_document;
  const std::string_view whole = meaning.what, what = whole.substr(0, whole.find(';'));
  return {meaning.errc, begin + std::string(what) + ": " + said + std::string(whole.substr(what.size()))};
}

}  // namespace

Error to_error(const bson_error_t& error, Effect effect, bool sent, const StoreConfig& config) {
  const Errc otherwise = effect != Effect::reads && sent ? Errc::in_doubt : Errc::unavailable;
  if (error.domain == MONGOC_ERROR_SERVER) {
    Error e = server_error(error.code, error.message, otherwise, config);
    if (e.in_doubt() && effect == Effect::reads) e.code = Errc::unavailable;
    return e;
  }
  const std::string words = without_secrets(error.message, config);
  // The driver calls it so too if the connection broke meanwhile.
  const bool cut = words.find("socket error or timeout") != std::string::npos;
  if (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE && cut)
    return {Errc::unavailable, config.place + ": the connection failed during the login: " + words};
  if (error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE)
    return {Errc::refused,
            config.place + ": the server refused user and password; check both, and authSource="};
  for (const char* distrust : {"certificate verify failed", "Failed certificate verification",
                               "Failed OCSP verification", "cannot start TLS"}) {
    if (words.find(distrust) != std::string::npos)
      return {Errc::refused,
              "no safe TLS connection to " + config.place + ": " + words +
                  "; give the certificate of its authority with tlsCAFile=, and the host name that its own "
                  "certificate contains"};
  }
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION || !sent)
    return {Errc::unavailable, "cannot connect to " + config.name() + ": " + reasons_in(words)};
  return {otherwise, config.place + ": the connection failed before the reply came: " + words};
}

std::optional<Error> write_concern_error(View reply, const StoreConfig& config) {
  if (const View concern = reply["writeConcernError"]) {
    Error e = server_error(concern.number("code"), concern.text("errmsg"), Errc::in_doubt, config);
    e.code = Errc::in_doubt;  // it is written, but not where it has to be
    return e;
  }
  return std::nullopt;
}

bool is_collision(std::int64_t code) noexcept { return code == 11000 || code == 112; }

// Damaged documents gave 14, 16702, 28651 and 28664, and older servers have other numbers for the same.
// Errors of the server itself have a name and a smaller number; these are checks of one expression each, and
// our expressions are right for every document that Holdfast wrote.
bool is_about_document(std::int64_t code) noexcept {
  constexpr std::int64_t first_unnamed = 16'000;
  constexpr std::int64_t codes[] = {14, 121, 241, 10334};
  // The server does not know a variable, a stage or a field that we send, or has ended our session.
  constexpr std::int64_t of_server[] = {17276, 40324, 40414, 40415, 46841, 50768, 56846};
  const auto is_in = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), code) != std::end(list);
  };
  return (code >= first_unnamed && !is_in(of_server)) || is_in(codes);
}

bool is_departure(std::int64_t code) noexcept {
  constexpr std::int64_t codes[] = {10107, 13435, 10058, 189, 91, 11600, 11602};
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

Error write_error(View error, const StoreConfig& config) {
  return server_error(error.number("code"), error.text("errmsg"), Errc::in_doubt, config);
}

void throw_write_errors(const Document& reply, const StoreConfig& config) {
  for (const View error : View(reply).documents("writeErrors")) throw_failure(write_error(error, config));
}

}  // namespace holdfast::mongodb
