// SPDX-License-Identifier: Apache-2.0
#include "base/url.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

TEST(Url, is_a_scheme_a_rest_and_parameters) {
  const struct {
    std::string_view text;
    std::string_view scheme, rest;
    Parameters parameters;
  } table[] = {
      {"sqlite:leases.db", "sqlite", "leases.db", {}},
      {"sqlite:/var/lib/a%20b.db", "sqlite", "/var/lib/a%20b.db", {}},
      {"sqlite:", "sqlite", "", {}},
      {"sqlite:x?", "sqlite", "x", {}},
      {"postgres://u:p@h:5432/db?table=locks", "postgres", "//u:p@h:5432/db", {{"table", "locks"}}},
      {"redis+tls://h", "redis+tls", "//h", {}},
      {"sqlite:x?a=1&b=2&a=3", "sqlite", "x", {{"a", "1"}, {"b", "2"}, {"a", "3"}}},
      {"sqlite:x?a=1&", "sqlite", "x", {{"a", "1"}}},
      {"sqlite:x?note=a%20%26%3db", "sqlite", "x", {{"note", "a &=b"}}},
      {"sqlite:x?%61=b=c", "sqlite", "x", {{"a", "b=c"}}},
      {"sqlite:x?empty=", "sqlite", "x", {{"empty", ""}}},
      {"sqlite:x?a=b?c", "sqlite", "x", {{"a", "b?c"}}},
  };
  for (const auto& row : table) {
    const auto url = parse_url(row.text);
    ASSERT_TRUE(url) << row.text << ": " << url.error().detail;
    EXPECT_EQ(url->scheme, row.scheme) << row.text;
    EXPECT_EQ(url->rest, row.rest) << row.text;
    EXPECT_EQ(url->parameters, row.parameters) << row.text;
  }
}

TEST(Url, is_refused_with_the_input_and_what_is_right) {
  const struct {
    std::string text;
    std::string_view right;
  } table[] = {
      {"", "sqlite:PATH"},
      {"leases.db", "sqlite:PATH"},
      {"/var/lib/leases.db", "sqlite:PATH"},
      {":x", "sqlite:PATH"},
      {"1a:x", "sqlite:PATH"},
      {"my scheme:x", "sqlite:PATH"},
      {"sqlite:x?table", "NAME=VALUE"},
      {"sqlite:x?=v", "NAME=VALUE"},
      {"sqlite:x?a=1&&b=2", "NAME=VALUE"},
      {"sqlite:x?a=%", "%25"},
      {"sqlite:x?a=%4", "%25"},
      {"sqlite:x?a=%4g", "%25"},
      {"sqlite:x?%zz=1", "%25"},
      {"sqlite:x?a=%00", "%25"},
  };
  for (const auto& row : table) {
    const auto url = parse_url(row.text);
    ASSERT_FALSE(url) << row.text;
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_NE(url.error().detail.find("\"" + row.text + "\""), std::string::npos) << url.error().detail;
    EXPECT_NE(url.error().detail.find(row.right), std::string::npos) << url.error().detail;
  }
}

TEST(Url, has_no_nul_however_it_is_written) {
  for (const std::string& text : {std::string("sqlite:a\0b", 10), std::string("sqlite:x?a=\0", 12),
                                  std::string("\0sqlite:x", 9), std::string("sqlite:x?a=%00")}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url);
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_EQ(url.error().detail.find('\0'), std::string::npos);
  }
}

TEST(Url, percent_decoding_reads_two_hex_digits) {
  EXPECT_EQ(*percent_decoded(""), "");
  EXPECT_EQ(*percent_decoded("a+b"), "a+b");
  EXPECT_EQ(*percent_decoded("%41%6a%6A%25"), "Ajj%");
  EXPECT_EQ(*percent_decoded("%fF"), "\xff");
  for (const auto* bad : {"%", "%4", "a%", "%%", "%4x", "%x4", "%00", "a%00b"})
    EXPECT_FALSE(percent_decoded(bad)) << bad;
}

// One of these secrets stands in each URL where a password stands or may have been meant.  "canary" is in
// all of them, before or behind whatever might mislead a reader of URLs.
constexpr std::string_view secrets[] = {
    "canary",
    "p@canary",
    "canary@p",
    "p:canary",
    "canary:p",
    "p/canary",
    "canary/p",
    "p/@canary",
    "canary@/p",
    "p?canary",
    "canary?p",
    "p#canary",
    "canary#p",
    "p%40canary",
    "canary%zz",
    "p//canary",
    "canary//p",
    "p://canary",
    "canary ",
    " canary",
    "@canary",
    "canary@",
    ":canary",
    "/canary",
    "x=canary",
    "*canary*",
    "p?x=canary",
    "\x01"
    "canary",
    "canary\xff",
};

constexpr std::string_view places[] = {
    "postgres://user:SECRET@host/db",
    "postgres://user:SECRET@host:5432/db?table=locks",
    "postgres://user:SECRET@host",
    "redis://:SECRET@host:6379/0",
    "mongodb://user:SECRET@a:1,b:2,c:3/db?replicaSet=r",
    "mongodb+srv://user:SECRET@host/?tls=true",
    "mariadb://user:SECRET@host:3306/db?table=locks",
    "mysql://user@host/db?password=SECRET",
    "postgres://user:SECRET@[::1]:5432/db",
    "postgres://host/db?password=SECRET",
    "postgres://host:5432/db?user=u&password=SECRET",
    "postgres://user@host:5432/db?password=SECRET&table=locks",
    "postgres://host/db?PassWord=SECRET",
    "postgres://host/db?sslpassword=SECRET",
    "postgres://host/db?p%61ssword=SECRET",
    "mongodb://host/db?tlsCertificateKeyFilePassword=SECRET",
    "mongodb://host/db?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:SECRET",
    "mongodb://host/db?authmechanismpropertie%73=A:b,AWS_SESSION_TOKEN:SECRET",
    "redis://host?auth_token=SECRET",
    "sqlite:x?secret=SECRET",
    "//user:SECRET@host/db",
    "user:SECRET@host/db",
    "postgres:user:SECRET@host/db",
    "postgres:/user:SECRET@host/db",
    "://user:SECRET@host/db",
    "host=db user=u password=SECRET",
};

std::string with(std::string_view place, std::string_view secret) {
  std::string url(place);
  return url.replace(url.find("SECRET"), 6, secret);
}

TEST(Url, a_redacted_url_never_shows_a_part_of_its_password) {
  for (const auto place : places) {
    for (const auto secret : secrets) {
      const std::string url = with(place, secret);
      EXPECT_EQ(redacted(url).find("canary"), std::string::npos) << url << " is shown as " << redacted(url);
    }
  }
}

TEST(Url, an_error_never_shows_a_part_of_a_password) {
  for (const auto place : places) {
    for (const auto secret : secrets) {
      for (const auto* behind : {"", "&broken", "?broken", "&broken=%zz"}) {
        const std::string url = with(place, secret) + behind;
        const auto parsed = parse_url(url);
        const std::string shown = parsed ? "" : parsed.error().detail;
        EXPECT_EQ(shown.find("canary"), std::string::npos) << shown;
      }
    }
  }
}

TEST(Url, redacting_leaves_all_that_is_no_secret) {
  for (const auto* url : {"sqlite:/var/lib/holdfast/leases.db", "sqlite:/srv/ann@work/a:b@c.db",
                          "sqlite:leases.db?table=locks", "postgres://user@host:5432/db",
                          "postgres://host/db?table=a&layout=b", "redis://[::1]:6379", "", "nonsense"}) {
    EXPECT_EQ(redacted(url), url);
    EXPECT_TRUE(secrets_in(url).empty());
  }
}

TEST(Url, redacting_hides_the_password_and_shows_the_rest) {
  const struct {
    std::string_view url, shown;
  } table[] = {
      {"postgres://user:canary@host:5432/db", "postgres://user:***@host:5432/db"},
      {"redis://:canary@host", "redis://:***@host"},
      {"postgres://host/db?user=u&password=canary&table=t", "postgres://host/db?user=u&password=***&table=t"},
      {"postgres://u:canary@h/d?password=canary", "postgres://u:***@h/d?password=***"},
      {"postgres://u:p@q/r@host/db", "postgres://u:***@host/db"},
  };
  for (const auto& row : table) EXPECT_EQ(redacted(row.url), row.shown);
}

TEST(Url, its_secrets_are_found_as_they_are_written_and_as_they_are_meant) {
  using Secrets = std::vector<std::string>;
  EXPECT_EQ(secrets_in("postgres://user:canary@host/db"), Secrets{"canary"});
  EXPECT_EQ(secrets_in("postgres://user:can@ry@host/db"), Secrets{"can@ry"});
  EXPECT_EQ(secrets_in("postgres://user:can%2Fry@host/db"), (Secrets{"can%2Fry", "can/ry"}));
  EXPECT_EQ(secrets_in("postgres://u:one@h/d?password=two"), (Secrets{"one", "two"}));
  EXPECT_EQ(secrets_in("postgres://user:@host/db"), Secrets{});
}

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

TEST(Address, distinguishes_an_empty_user_or_password_from_none) {
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
