// SPDX-License-Identifier: Apache-2.0
// documented_grants.h - what a page grants to `app`, for another user; and all for which a client needs it.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/caller.h"

#ifndef HOLDFAST_PAGES
#define HOLDFAST_PAGES "docs"  // no build says where they are, so the ones here
#endif

namespace holdfast::test {

// The block of SQL of that page with these words.
inline std::string documented_grants(const std::string& page, const std::string& words,
                                     const std::string& user) {
  std::ifstream file(HOLDFAST_PAGES + page);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = text.find(words);
  if (at == std::string::npos) throw std::runtime_error(page + " has no " + words);
  const std::size_t from = text.find('\n', text.rfind("```sql", at)) + 1;
  std::string sql = text.substr(from, text.find("```", from) - from);
  constexpr std::string_view app = "TO app;";
  for (std::size_t found = 0; (found = sql.find(app, found)) != std::string::npos;)
    sql.replace(found, app.size(), "TO " + user + ";");
  return sql;
}

template <class AnyCaller>
void use_all_of_leases(const std::string& url) {
  AnyCaller a(url), b(url);
  const Reply mine = a.acquire("k", "ann");
  EXPECT_EQ(a.renew("k", "ann", mine.token).verdict, Verdict::granted);
  EXPECT_EQ(b.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(b.acquire("k", "bob", 1h, 1h).verdict, Verdict::busy);
  EXPECT_EQ(a.release("k", "ann", mine.token).verdict, Verdict::released);
  const Reply theirs = b.ask(
      {.verb = Verb::acquire, .key = {"k"}, .owner = {"bob"}, .ttl = 1h, .detached = true, .note = "n"});
  EXPECT_EQ(theirs.verdict, Verdict::granted);
  EXPECT_EQ(a.evict("k", theirs.token).verdict, Verdict::released);
  a.acquire("short", "ann", 1ms);
  EXPECT_TRUE(await([&] { return b.acquire("short", "bob").verdict == Verdict::granted; }));
  for (const auto what : {Query::What::leases, Query::What::places, Query::What::log})
    EXPECT_TRUE(a.connection().list({.what = what}, soon()));
  EXPECT_TRUE(a.connection().examine(soon()));
}

}  // namespace holdfast::test
