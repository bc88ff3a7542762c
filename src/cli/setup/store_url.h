// SPDX-License-Identifier: Apache-2.0
// store_url.h - which store the command speaks to, and what nobody else may know about it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/setup/configuration.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct StoreChoice {
  std::string url;                 // or @FILE
  std::string name = {};           // as the configuration calls it; empty: it does not
  std::string password = {};       // of the configuration, beside the URL
  std::string password_file = {};  // where that is
  std::string from;                // --store, HOLDFAST_STORE, FILE:LINE, default
  bool implicit = false;           // nobody said which: the user's own file
};

// What is known before the command does anything.
struct Setup {
  Configuration configuration;
  StoreChoice store;
  std::optional<Error> no_store = {};  // for `config`, which tells it
};

// -- first of all: before any thread, and before anything is said; whether the command has a store or not

// A password is secret from here on: gone from the list of arguments (with a warning, for every user could
// have read it), from whatever we say, and from a core.  `stores` is all that --store said.
void hide_secrets_of(std::span<const std::string> stores, std::span<char* const> argv);

// HOLDFAST_STORE, if it is set.  A password there is not for CMD: it is taken out of our environment, and is
// secret too.  What CMD calls must not take another store for want of it, so it finds *** there, which
// holdfast refuses.
std::optional<std::string> take_from_environment();

// -- which store

// What is said of it, by whom.
struct StoreWord {
  enum class By : std::uint8_t { option, environment, configuration, nobody };
  std::string word;
  std::string from;  // --store, HOLDFAST_STORE, FILE:LINE, default
  By by;
};

// What --store says, else HOLDFAST_STORE, else the configuration, else the default store.
StoreWord store_word(const std::string& given, const std::optional<std::string>& inherited,
                     const Configuration& configuration);

// A word without a colon is the name of a store of the configuration.  Errc::invalid also if nobody said
// which store, and the configuration requires it.
//
// HOLDFAST_STORE says the same from now on, for what CMD calls; with *** for a password, which holdfast
// refuses: to fall back to another store would be worse.  Where the configuration has the password, the name
// is enough.
Result<StoreChoice> choose_store(const StoreWord& said, const Configuration& configuration);

// The URL with its password.  @FILE stands for what the first line of FILE says; if that is a password's,
// nobody else may be able to read it, and so of a password-file.
//
// A password in the variable that the store's driver reads is taken out of the environment, and into the URL
// if that has none.
Result<std::string> url_of(const StoreChoice& choice);

// -- what a URL names

// Its scheme with the colon.
std::string_view scheme_of(std::string_view url);

// A file by a relative path: another one in every folder.
bool is_relative(std::string_view url);

}  // namespace holdfast::cli
