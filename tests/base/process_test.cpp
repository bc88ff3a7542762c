// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace holdfast {
namespace {

TEST(Host, an_owner_name_has_the_form_of_the_ruby_locker) {
  const std::string guid(32, 'a');
  const std::string name = owner_name(guid);
  EXPECT_TRUE(name.starts_with("host:")) << name;
  EXPECT_TRUE(name.ends_with(" pid:" + std::to_string(getpid()) + " guid:" + guid)) << name;
}

// What `ask` says in a child of this process.
template <class Ask>
bool in_a_child(Ask ask) {
  const pid_t child = fork();
  if (child == 0) _exit(ask() ? 1 : 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

TEST(ForkPage, says_no_where_it_was_made) {
  const ForkPage page;
  EXPECT_FALSE(page.in_child());
}

TEST(ForkPage, says_yes_in_a_child_and_still_no_in_the_parent) {
  const ForkPage page;
  EXPECT_TRUE(in_a_child([&] { return page.in_child(); }));
  EXPECT_FALSE(page.in_child());
}

TEST(ForkPage, says_yes_in_a_grandchild) {
  const ForkPage page;
  EXPECT_TRUE(in_a_child([&] { return in_a_child([&] { return page.in_child(); }); }));
}

TEST(ForkPage, one_made_in_the_child_is_the_childs_own) {
  EXPECT_FALSE(in_a_child([] { return ForkPage().in_child(); }));
}

}  // namespace
}  // namespace holdfast
