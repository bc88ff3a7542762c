// SPDX-License-Identifier: Apache-2.0
#include "holdfast/fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/await.h"
#include "tests/support/file_lock.h"
#include "tests/support/scratch.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A guard whose mark is in memory, and one whose mark is in a file.
class Guards : public ::testing::TestWithParam<bool> {
 protected:
  Scratch scratch_;
  FenceGuard fence_ = GetParam() ? FenceGuard::beside(scratch_.path() + "/thing") : FenceGuard();
};
INSTANTIATE_TEST_SUITE_P(Of, Guards, ::testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "file" : "memory"; });

TEST_P(Guards, refuse_an_older_token_and_admit_an_equal_one) {
  EXPECT_TRUE(fence_.admits(Token{9007199254740993}));
  EXPECT_FALSE(fence_.admits(Token{9007199254740992}));
  EXPECT_TRUE(fence_.admits(Token{9007199254740993}));
  EXPECT_TRUE(fence_.admits(Token{9223372036854775807}));
  EXPECT_FALSE(fence_.admits(Token{9007199254740993}));
}

TEST_P(Guards, say_of_a_late_holder_that_its_lease_is_lost) {
  EXPECT_EQ(fence_.enter(Token{6}).token(), Token{6});
  const auto late = fence_.try_enter(Token{5});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::lost);
  EXPECT_EQ(late.error().loss, Loss::stolen);
  EXPECT_THAT(late.error().detail, HasSubstr("token 5 is too old"));
  EXPECT_THAT(late.error().detail, HasSubstr("has already seen token 6"));
  EXPECT_THROW((void)fence_.enter(Token{5}), LeaseLost);
}

TEST_P(Guards, take_no_token_for_a_callers_mistake) {
  for (const Token token : {no_token, Token{9223372036854775808ULL}}) {
    const auto refused = fence_.try_enter(token);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid);
    EXPECT_THROW(fence_.admits(token), Failure);
  }
  EXPECT_TRUE(fence_.admits(Token{1}));
}

TEST_P(Guards, let_nobody_in_while_somebody_is_inside) {
  std::optional<FenceGuard::Pass> pass = fence_.enter(Token{5});
  EXPECT_EQ(fence_.try_enter(Token{6}, 0ms).error().code, Errc::busy);
  EXPECT_EQ(fence_.try_enter(Token{6}, 5ms).error().code, Errc::timeout);
  FenceGuard::Pass moved = *std::move(pass);
  pass.reset();
  EXPECT_EQ(FenceGuard(fence_).try_enter(Token{6}, 0ms).error().code, Errc::busy);  // a copy is the same
  // A holder that was refused has not raised the mark.
  std::optional<FenceGuard::Pass> last = std::move(moved);
  last.reset();
  EXPECT_TRUE(fence_.admits(Token{5}));
}

// 'S': it waits for something.
char state_of_thread(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '?' : text[name_end + 2];
}

TEST_P(Guards, refuse_an_older_holder_that_waited_behind_a_younger_one) {
  std::optional<FenceGuard::Pass> pass = fence_.enter(Token{6});
  std::atomic<bool> was_admitted = true;
  std::atomic<pid_t> thread = 0;
  // As another process has it.  What is in memory is only this one's.
  FenceGuard behind = GetParam() ? FenceGuard::beside(scratch_.path() + "/thing") : fence_;
  std::jthread older([&] {
    thread = ::gettid();
    was_admitted = behind.admits(Token{5});
  });
  EXPECT_TRUE(await([&] {
    return GetParam() ? is_waited_for(scratch_.path() + "/.thing.fence")
                      : thread != 0 && state_of_thread(thread) == 'S';
  }));
  pass.reset();
  older.join();
  EXPECT_FALSE(was_admitted);
}

TEST_P(Guards, are_shared_by_threads_of_which_one_at_a_time_is_inside_and_tokens_rise) {
  std::atomic<int> inside = 0, refused = 0;
  std::vector<std::uint64_t> seen;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t first = 1; first <= 4; ++first) {
      threads.emplace_back([&, first] {
        for (std::uint64_t token = first; token <= 80; token += 4) {
          const auto pass = fence_.try_enter(Token{token});
          if (!pass) {
            ++refused;
            continue;
          }
          EXPECT_EQ(++inside, 1);
          seen.push_back(token);
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(seen.size() + static_cast<std::size_t>(refused.load()), 80U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 80U);
}

TEST(Guard, may_be_gone_before_its_pass) {
  std::optional<FenceGuard> fence = FenceGuard();
  const FenceGuard::Pass pass = fence->enter(Token{5});
  fence.reset();
  EXPECT_EQ(pass.token(), Token{5});
}

TEST(GuardOfAFile, remembers_the_mark_when_it_is_made_again) {
  const Scratch scratch;
  EXPECT_TRUE(FenceGuard::beside(scratch.path() + "/thing").admits(Token{6}));
  EXPECT_FALSE(FenceGuard::beside(scratch.path() + "/thing").admits(Token{5}));
  EXPECT_TRUE(FenceGuard::beside(scratch.path() + "/other").admits(Token{5}));
}

TEST(GuardOfAFile, excludes_another_guard_of_the_same_file) {
  const Scratch scratch;
  auto one = FenceGuard::beside(scratch.path() + "/thing");
  auto another = FenceGuard::beside(scratch.path() + "/../" +
                                    scratch.path().substr(scratch.path().rfind('/') + 1) + "/thing");
  const auto pass = one.enter(Token{5});
  EXPECT_EQ(another.try_enter(Token{6}, 0ms).error().code, Errc::busy);
}

TEST(GuardOfAFile, is_not_had_by_a_link_that_could_be_switched_to_what_has_no_mark) {
  const Scratch scratch;
  const std::string current = scratch.path() + "/current";
  for (const char* const name : {"v1", "v2"}) std::filesystem::create_directory(scratch.path() + "/" + name);
  std::filesystem::create_directory_symlink("v1", current);
  for (const std::string& way : {current, current + "/", current + "/.", current + "/./"}) {
    auto fence = FenceGuard::beside(way);
    const auto refused = fence.try_enter(Token{20});
    ASSERT_FALSE(refused) << way;
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_THAT(refused.error().detail, HasSubstr("give the target, "));
    EXPECT_THAT(refused.error().detail, HasSubstr("/v1"));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/.v1.fence"));
  // A link above it is a way like others.
  EXPECT_TRUE(FenceGuard::beside(current + "/thing").admits(Token{20}));
  EXPECT_FALSE(FenceGuard::beside(scratch.path() + "/v1/thing").admits(Token{10}));
  EXPECT_TRUE(FenceGuard::beside(current + "/..").admits(Token{20}));
  EXPECT_FALSE(FenceGuard::beside(scratch.path()).admits(Token{10}));
  std::filesystem::remove(std::filesystem::path(scratch.path()).parent_path() /
                          ("." + std::filesystem::path(scratch.path()).filename().string() + ".fence"));
}

TEST(GuardOfAFile, is_refused_a_mark_that_cannot_be_believed_or_kept) {
  const Scratch scratch;
  std::ofstream(scratch.path() + "/.thing.fence") << "6\n";
  auto damaged = FenceGuard::beside(scratch.path() + "/thing");
  EXPECT_EQ(damaged.try_enter(Token{7}).error().code, Errc::refused);
  EXPECT_THAT(damaged.try_enter(Token{7}).error().detail, HasSubstr(".thing.fence"));
  EXPECT_THROW(damaged.admits(Token{7}), Failure);
  EXPECT_EQ(FenceGuard::beside(scratch.path() + "/no/thing").try_enter(Token{7}).error().code, Errc::refused);
  EXPECT_EQ(FenceGuard::beside("").try_enter(Token{7}).error().code, Errc::invalid);
}

// From now on this thread, and those it starts, have a file system that cannot bring a file to a free name in
// one step, as NFS cannot.
bool forbid_to_rename_to_a_free_name() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(GuardOfAFile, is_made_by_one_of_many_at_once_and_nothing_else_is_left) {
  for (const bool can_rename : {true, false}) {
    const Scratch scratch;
    std::jthread([&] {
      ASSERT_TRUE(can_rename || forbid_to_rename_to_a_free_name());
      for (int file = 0; file < 20; ++file) {
        const std::string path = scratch.path() + "/thing" + std::to_string(file);
        std::barrier start(4);
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
          threads.emplace_back([&] {
            auto fence = FenceGuard::beside(path);
            start.arrive_and_wait();
            const auto pass = fence.try_enter(Token{6});
            EXPECT_TRUE(pass) << pass.error().detail;
          });
        }
        threads.clear();
        EXPECT_FALSE(FenceGuard::beside(path).admits(Token{5}));
      }
    }).join();
    const std::filesystem::directory_iterator files(scratch.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 20) << can_rename;
  }
}

TEST(GuardOfAFile, that_was_deleted_while_one_waited_is_made_again) {
  const Scratch scratch;
  const std::string mark = scratch.path() + "/.thing.fence";
  auto fence = FenceGuard::beside(scratch.path() + "/thing");
  auto another = FenceGuard::beside(scratch.path() + "/thing");
  std::optional<FenceGuard::Pass> pass = fence.enter(Token{6});
  std::jthread waiter([&] { EXPECT_TRUE(another.admits(Token{7})); });
  ASSERT_TRUE(await([&] { return is_waited_for(mark); }));
  std::filesystem::remove(mark);
  pass.reset();
  waiter.join();
  EXPECT_FALSE(fence.admits(Token{6}));  // the mark is where it can be found
}

TEST(GuardOfAFile, finds_the_mark_again_if_it_or_its_folder_was_moved_during_a_wait) {
  for (const bool folder : {false, true}) {
    const Scratch scratch;
    const std::string home = scratch.path() + "/home", mark = home + "/.thing.fence";
    std::filesystem::create_directory(home);
    auto fence = FenceGuard::beside(home + "/thing");
    auto another = FenceGuard::beside(home + "/thing");
    std::optional<FenceGuard::Pass> pass = fence.enter(Token{6});
    std::jthread waiter(
        [&] { EXPECT_FALSE(another.admits(Token{7})) << "the mark that is there has seen 8"; });
    ASSERT_TRUE(await([&] { return is_waited_for(mark); }));
    std::filesystem::rename(folder ? home : mark, scratch.path() + "/elsewhere");
    std::filesystem::create_directory(home);
    EXPECT_TRUE(FenceGuard::beside(home + "/thing").admits(Token{8}));
    pass.reset();
    waiter.join();
  }
}

}  // namespace
}  // namespace holdfast::test
