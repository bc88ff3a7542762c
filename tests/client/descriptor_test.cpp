// SPDX-License-Identifier: Apache-2.0
// What stores say of themselves: descriptors, URLs that are read by them, and pages that say the same.
#include "holdfast/spi/descriptor.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/url.h"
#include "core/url_parameters.h"
#include "holdfast/client.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const StoreDescriptor& store) {
  std::ifstream file(std::string(HOLDFAST_ROOT) + "/" + std::string(store.page));
  EXPECT_TRUE(file) << store.page;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string with_escaped_bars(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

// The table of a store's page, as it ought to be.
std::string table_of(const StoreDescriptor& store) {
  std::string table = "| parameter | default | meaning |\n| --- | --- | --- |\n";
  for (const UrlParameter& parameter : store.parameters) {
    table += "| `" + std::string(parameter.name) + "=" + with_escaped_bars(parameter.value) + "` |";
    table += (parameter.fallback.empty() ? "" : " " + std::string(parameter.fallback)) + " | ";
    if (!parameter.scheme.empty()) table += "for `" + std::string(parameter.scheme) + ":` only: ";
    table += std::string(parameter.meaning) + " |\n";
  }
  return table;
}

TEST(Descriptors, name_each_store_and_each_scheme_once) {
  std::set<std::string_view> names, schemes;
  for (const StoreDescriptor& store : store_descriptors()) {
    EXPECT_TRUE(names.insert(store.name).second) << store.name;
    EXPECT_FALSE(store.titles.empty()) << store.name;
    ASSERT_FALSE(store.schemes.empty()) << store.name;
    for (const std::string_view scheme : store.schemes) {
      EXPECT_TRUE(schemes.insert(scheme).second) << scheme;
      EXPECT_EQ(descriptor_of(std::string(scheme) + ":"), &store);
    }
    EXPECT_TRUE(store.url.starts_with(std::string(store.schemes.front()) + ":")) << store.url;
    EXPECT_EQ(store.page.empty(), store.place == StorePlace::process) << store.name;
  }
  EXPECT_EQ(default_store().place, StorePlace::file);
  for (const char* const no_store : {"", "sqlite", "@/etc/sqlite:x", "nothing:x", ":"})
    EXPECT_EQ(descriptor_of(no_store), nullptr) << no_store;
}

TEST(Descriptors, have_the_parameters_that_the_pages_have) {
  for (const StoreDescriptor& store : store_descriptors()) {
    if (store.page.empty()) continue;
    EXPECT_THAT(page_of(store), HasSubstr("\n\n" + table_of(store) + "\n"))
        << store.page << " should have this table of parameters, and no other row in it";
  }
}

TEST(Descriptors, have_the_topics_that_the_pages_have) {
  for (const StoreDescriptor& store : store_descriptors()) {
    const std::string page = store.page.empty() ? "" : page_of(store);
    for (const std::string_view topic : store.topics()) {
      EXPECT_TRUE(topic.starts_with(std::string(store.name) + ".")) << topic;
      if (!page.empty()) {
        EXPECT_THAT(page, HasSubstr("\n| `" + std::string(topic) + "` |"));
      }
    }
  }
}

TEST(Descriptors, make_the_errors_of_a_url) {
  for (const StoreDescriptor& store : store_descriptors()) {
    if (!store.other_parameters.empty()) continue;  // its driver may not be installed
    const std::string scheme(store.schemes.front());
    const std::string url = scheme + (store.place == StorePlace::server ? "://u:p@localhost/0?" : ":x?");
    if (store.place == StorePlace::process) continue;
    const auto unknown = try_store(url + "no-such=1");
    ASSERT_FALSE(unknown) << store.name;
    EXPECT_EQ(unknown.error().code, Errc::invalid);
    EXPECT_THAT(unknown.error().detail, HasSubstr("\"no-such\" is not a parameter of " + scheme + ": URLs"));
    for (const UrlParameter& parameter : store.parameters) {
      const std::string shown = std::string(parameter.name) + "=" + std::string(parameter.value);
      EXPECT_THAT(unknown.error().detail, HasSubstr(shown));
    }
    const auto wrong = try_store(url + "unsafe=yes");
    ASSERT_FALSE(wrong) << store.name;
    EXPECT_EQ(wrong.error().detail, "unsafe=yes: invalid value; write unsafe=allow");
  }
}

// ---- the reader, on a store of no database

constexpr UrlParameter parameters[] = {
    {"table", "NAME", "the table"},
    {"layout", "own|other|third", "the layout"},
    {"key", "FILE", "the key", "", "stores"},
    core::accept_parameter,
    core::unsafe_parameter,
};
constexpr std::string_view schemes[] = {"store", "stores"};
constexpr StoreDescriptor some_store{.name = "store",
                                     .titles = {},
                                     .schemes = schemes,
                                     .url = "store://HOST",
                                     .parameters = parameters,
                                     .topics = nullptr,
                                     .open = nullptr};

struct SomeOptions {
  std::string table = "locks", layout;
  bool allow_unsafe = false;
  std::vector<std::string> accept{};
};
constexpr core::TextParameter<SomeOptions> texts[] = {{"table", &SomeOptions::table}};

Result<SomeOptions> read(const std::string& url) {
  SomeOptions options;
  const auto other = [&](const std::string& name, const std::string& value) {
    if (name == "layout") options.layout = value;
    return Status{};
  };
  if (Status s =
          core::read_parameters<SomeOptions>(parse_url(url).value(), some_store, options, texts, other);
      !s)
    return std::move(s).error();
  return options;
}

TEST(UrlParameters, are_read_by_the_table) {
  const SomeOptions options =
      read("store://h?table=t&layout=third&accept=store.a,store.b&unsafe=allow").value();
  EXPECT_EQ(options.table, "t");
  EXPECT_EQ(options.layout, "third");
  EXPECT_THAT(options.accept, ::testing::ElementsAre("store.a", "store.b"));
  EXPECT_TRUE(options.allow_unsafe);
  EXPECT_TRUE(read("stores://h?key=/f"));
}

TEST(UrlParameters, that_are_wrong_are_refused_with_what_is_right) {
  EXPECT_EQ(read("store://h?layout=fourth").error().detail,
            "layout=fourth: invalid value; write layout=own, layout=other or layout=third");
  EXPECT_EQ(read("stores://h?tabel=t").error().detail,
            "\"tabel\" is not a parameter of stores: URLs; write table=NAME, layout=own|other|third, "
            "key=FILE, accept=TOPIC[,TOPIC] or unsafe=allow");
  EXPECT_EQ(read("store://h?key=/f").error().detail,
            "\"key\" is not a parameter of store: URLs; write table=NAME, layout=own|other|third, "
            "accept=TOPIC[,TOPIC] or unsafe=allow, and for stores: key=FILE");
}

// Who forgot %3F and %40 has written a password there.
TEST(UrlParameters, that_may_be_a_part_of_a_password_are_not_repeated) {
  for (const char* const url : {"store://u:1?canary=x@h", "store://u:1?layout=canary@h",
                                "store://u:1?unsafe=canary&x=y@h", "store://u:1?password=canary@h"})
    EXPECT_THAT(read(url).error().detail, Not(HasSubstr("canary"))) << url;
}

}  // namespace
}  // namespace holdfast::test
