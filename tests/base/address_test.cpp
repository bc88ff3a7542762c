// SPDX-License-Identifier: Apache-2.0
#include "base/address.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Address, is_user_password_host_port_and_path) {
  const struct {
    std::string_view rest, user, password, host;
    int port;
    std::string_view path;
  } table[] = {
      {"//", "", "", "", 0, ""},
      {"//h", "", "", "h", 0, ""},
      {"//h/", "", "", "h", 0, ""},
      {"//h:1/p/q", "", "", "h", 1, "p/q"},
      {"//u:p@h:65535/d", "u", "p", "h", 65535, "d"},
      {"//:p@h", "", "p", "h", 0, ""},
      {"//u@h", "u", "", "h", 0, ""},
      {"//u:a:b@c@h", "u", "a:b@c", "h", 0, ""},
      {"//%75:%40%2f%3a@h/%2fd", "u", "@/:", "h", 0, "/d"},
      {"//[::1]:7/d", "", "", "::1", 7, "d"},
      {"//u:p@[fe80::1]", "u", "p", "fe80::1", 0, ""},
  };
  for (const auto& row : table) {
    const auto address = parse_address(row.rest);
    ASSERT_TRUE(address) << row.rest << ": " << address.error().detail;
    EXPECT_EQ(address->user, row.user) << row.rest;
    EXPECT_EQ(address->password, row.password) << row.rest;
    EXPECT_EQ(address->host, row.host) << row.rest;
    EXPECT_EQ(address->port, row.port) << row.rest;
    EXPECT_EQ(address->path, row.path) << row.rest;
  }
}

TEST(Address, tells_an_empty_user_or_password_from_none) {
  EXPECT_FALSE(parse_address("//h").value().has_user);
  EXPECT_TRUE(parse_address("//u@h").value().has_user);
  EXPECT_FALSE(parse_address("//u@h").value().has_password);
  EXPECT_TRUE(parse_address("//u:@h").value().has_password);
}

TEST(Address, that_is_wrong_is_refused_and_nothing_of_it_repeated) {
  for (const std::string_view rest :
       {"", "canary", "/canary", "//canary:canary", "//canary:", "//canary:0", "//canary:65536",
        "//canary:-1", "//canary:1x", "//[canary]", "//[::1", "//[::1]canary", "//u:canary/@h",
        "//u:%zcanary@h", "//%00canary", "//can ary", "//can\nary", "//h/%zcanary"}) {
    const auto address = parse_address(rest);
    ASSERT_FALSE(address) << rest;
    EXPECT_EQ(address.error().code, Errc::invalid);
    EXPECT_EQ(address.error().detail.find("canary"), std::string::npos) << address.error().detail;
    EXPECT_NE(address.error().detail.find("//user:password@host:port"), std::string::npos);
  }
}

TEST(Address, is_local_only_if_no_network_hears_it) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"}) EXPECT_TRUE(is_local(host)) << host;
  for (const char* host : {"", "db", "10.0.0.1", "127.example.org", "localhost.example.org", "::2"})
    EXPECT_FALSE(is_local(host)) << host;
}

TEST(Address, is_written_with_brackets_where_they_are_needed) {
  EXPECT_EQ(host_and_port("h", 1), "h:1");
  EXPECT_EQ(host_and_port("::1", 1), "[::1]:1");
}

}  // namespace
}  // namespace holdfast
