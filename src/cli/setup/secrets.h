// SPDX-License-Identifier: Apache-2.0
// secrets.h - what nobody else may know.
#pragma once
#include <string>
#include <string_view>

namespace holdfast::cli {

bool has_secret(const std::string& url);

// From here on what is secret in it is not said by us, whoever put it into a message, and not in a core.
void keep_secret(const std::string& url);
// The same for a password that stands by itself.
void keep_password_secret(const std::string& password);

// Every letter of it as %41, safe anywhere in a URL.
std::string percent_encoded(std::string_view text);

// The URL with that password behind its user.  REQUIRES: it has none or an empty one, and has a ://
std::string with_password(const std::string& url, std::string_view password);

}  // namespace holdfast::cli
