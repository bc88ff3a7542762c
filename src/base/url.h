// SPDX-License-Identifier: Apache-2.0
// url.h - the address of a store.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// SCHEME:REST?NAME=VALUE&NAME=VALUE.  REST stays as it was written: what it means is the store's
// business (a path, or //user:password@host/database).  Names and values are percent-decoded.
struct Url {
  std::string scheme;
  std::string rest;
  std::vector<std::pair<std::string, std::string>> parameters;
};

Result<Url> parse_url(std::string_view text);

// %41 becomes A.  Fails on a % that is not followed by two hex digits, and on an encoded NUL.
Result<std::string> percent_decoded(std::string_view text);

// The same address without its password, fit for any output: //user:***@host, password=***.
std::string redacted(std::string_view url);

// What redacted() hides, each as it is written and percent-decoded.
std::vector<std::string> secrets_in(std::string_view url);

}  // namespace holdfast
