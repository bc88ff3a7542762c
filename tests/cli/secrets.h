// SPDX-License-Identifier: Apache-2.0
// secrets.h - a canary for a password, and all the ways to give it.
#pragma once
#include <sys/stat.h>

#include <functional>

#include "tests/cli/home.h"

namespace holdfast::test {

inline constexpr const char* canary = "hunter2-canary";
// The same, written as one may write it in a URL; a part of it, so that it is not all of it either.
inline constexpr const char* encoded_canary = "hunter2%2Dcan%61ry";
// As we write one into a URL.
inline constexpr const char* wholly_encoded_canary = "%68%75%6E%74%65%72%32%2D%63%61%6E%61%72%79";

class Secrets : public Home {
 protected:
  // The embedded store has no passwords (servers_test.cpp has those that do).  But what looks like one is
  // treated as one, here the name of a file.
  std::string secret_url() const { return "sqlite:" + path("a password=") + canary; }
  std::string secret_file(mode_t mode) const {
    std::ofstream(path("url")) << secret_url() << "\nnot this\n";
    ::chmod(path("url").c_str(), mode);
    return "@" + path("url");
  }

  // All ways to give a URL; each is tried on an environment of its own.
  enum class Way {
    option,
    option_with_equals,
    environment,
    file,
    file_by_environment,
    config,
    config_by_name
  };
  static constexpr Way ways[] = {Way::option,        Way::option_with_equals,  Way::environment,
                                 Way::file,          Way::file_by_environment, Way::config,
                                 Way::config_by_name};
  Words given(Way way, const std::string& url, Words words) {
    forget();
    if (way == Way::option) words.insert(words.begin(), {"--store", url});
    if (way == Way::option_with_equals) words.insert(words.begin(), "--store=" + url);
    if (way == Way::environment) environment_["HOLDFAST_STORE"] = url;
    if (way == Way::file) words.insert(words.begin(), {"--store", secret_file(0600)});
    if (way == Way::file_by_environment) environment_["HOLDFAST_STORE"] = secret_file(0600);
    if (way == Way::config) configure("store = '" + url + "'\n");
    if (way == Way::config_by_name) {
      configure("[stores]\nmine = '" + url + "'\n");
      words.insert(words.begin(), {"--store", "mine"});
    }
    return words;
  }
  void forget_variables() {
    for (const char* const name : {"HOLDFAST_STORE", "PGPASSWORD", "MYSQL_PWD"}) environment_.erase(name);
  }
  void forget() {
    forget_variables();
    std::filesystem::remove(path(".config/holdfast/config.toml"));
  }
  void configure(const std::string& text) const {
    std::filesystem::create_directories(path(".config/holdfast"));
    std::ofstream(path(".config/holdfast/config.toml")) << text;
    ::chmod(path(".config/holdfast/config.toml").c_str(), 0600);
  }

  // All ways to give a password to a server, each of which gets the words to be run.
  struct Planted {
    const char* name;
    std::function<void(Words&)> plant;
  };
  std::vector<Planted> plants(const std::string& scheme);
  static Words option(const std::string& value, Words words) {
    words.insert(words.begin(), {"--store", value});
    return words;
  }
  static void expect_nothing_in(const Ended& ended) {
    EXPECT_THAT(ended.out, ::testing::Not(::testing::HasSubstr(canary)));
    EXPECT_THAT(ended.err, ::testing::Not(::testing::HasSubstr(canary)));
    EXPECT_THAT(ended.out + ended.err, ::testing::Not(::testing::HasSubstr(encoded_canary)));
    EXPECT_THAT(ended.out + ended.err, ::testing::Not(::testing::HasSubstr(wholly_encoded_canary)));
  }
};

// The server is not there: port 1 is nobody's.
inline std::vector<Secrets::Planted> Secrets::plants(const std::string& scheme) {
  const std::string plain = scheme + "://me@127.0.0.1:1/db";
  const std::string url = scheme + "://me:" + canary + "@127.0.0.1:1/db";
  const std::string encoded = scheme + "://me:" + encoded_canary + "@127.0.0.1:1/db";
  const std::string parameter = plain + "?password=" + canary;
  std::ofstream(path("secret")) << canary << "\n";
  ::chmod(path("secret").c_str(), 0600);
  const auto by_option = [](std::string given) {
    return [given](Words& words) { words = option(given, words); };
  };
  const auto by_variable = [this](std::string name, std::string value) {
    return [this, name, value](Words&) { environment_[name] = value; };
  };
  const auto by_config = [this](std::string text) { return [this, text](Words&) { configure(text); }; };
  const auto beside = [&](const std::string& more) {
    return by_config("store = 'mine'\n[stores]\nmine = { url = '" + plain + "', " + more + " }\n");
  };
  return {
      {"the URL as an option", by_option(url)},
      {"percent-encoded as an option", by_option(encoded)},
      {"a parameter as an option", by_option(parameter)},
      {"the URL in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", url)},
      {"percent-encoded in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", encoded)},
      {"a parameter in HOLDFAST_STORE", by_variable("HOLDFAST_STORE", parameter)},
      {"@FILE",
       [=, this](Words& words) {
         std::ofstream(path("url")) << url << "\n";
         ::chmod(path("url").c_str(), 0600);
         words = option("@" + path("url"), words);
       }},
      {"the URL in a configuration", by_config("store = '" + url + "'\n")},
      {"percent-encoded in a configuration", by_config("store = '" + encoded + "'\n")},
      {"beside the URL in a configuration", beside(std::string("password = '") + canary + "'")},
      {"password-file", beside("password-file = '" + path("secret") + "'")},
      {"PGPASSWORD or MYSQL_PWD",
       [=, this](Words& words) {
         environment_["PGPASSWORD"] = environment_["MYSQL_PWD"] = canary;
         words = option(plain, words);
       }},
  };
}

}  // namespace holdfast::test
