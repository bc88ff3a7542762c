// SPDX-License-Identifier: Apache-2.0
#include "base/driver.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Driver, a_function_is_found_in_the_library_that_is_loaded) {
  double (*size)(double) = nullptr;
  Driver driver("libm.so.6", "libc6", {{"fabs", &size}});
  ASSERT_TRUE(driver.load());
  ASSERT_NE(size, nullptr);
  EXPECT_EQ(size(-3), 3);
  EXPECT_TRUE(driver.load());
}

TEST(Driver, one_that_is_not_installed_is_named_with_what_to_install) {
  Driver driver("libnowhere.so.7", "libnowhere7", {});
  const Status loaded = driver.load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::refused);
  EXPECT_NE(loaded.error().detail.find("libnowhere.so.7"), std::string::npos);
  EXPECT_NE(loaded.error().detail.find("install Debian's package libnowhere7"), std::string::npos);
}

TEST(Driver, one_that_is_too_old_is_named_with_what_it_lacks) {
  void (*missing)() = nullptr;
  Driver driver("libm.so.6", "libc6", {{"no_such_function", &missing}});
  const Status loaded = driver.load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::refused);
  EXPECT_NE(loaded.error().detail.find("no_such_function"), std::string::npos);
}

}  // namespace
}  // namespace holdfast
