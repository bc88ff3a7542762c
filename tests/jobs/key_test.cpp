// SPDX-License-Identifier: Apache-2.0
// The keys of jobs: exact ones, and those of active_job_lock, letter by letter.
#include <gtest/gtest.h>

#include <map>

#include "holdfast/jobs.h"

namespace holdfast::test {
namespace {

std::string key(const Args& args, const JobOptions& options = {}) {
  return job_key("Job", options, args).value();
}
std::string joined(const Args& args) { return job_key("Job", {}, args, JobKeyForm::joined).value(); }

TEST(Key, texts_have_quotes_where_they_could_be_taken_for_something_else) {
  EXPECT_EQ(key(Args::of(1, "a", nullptr, true)), "lock:Job:1-a-null-true");
  EXPECT_EQ(key(Args::of(false, -7, "ä b")), "lock:Job:false--7-ä b");
  EXPECT_EQ(key(Args::of("a-b", "1", "null", "")), R"(lock:Job:"a-b"-"1"-"null"-"")");
  EXPECT_EQ(key(Args::of("a:b", "\"", "\\")), R"(lock:Job:"a:b"-"\""-"\\")");
  EXPECT_EQ(key(Args::of(Json{" -0 "}, Json{"\"\\u0061\""})), "lock:Job:0-a")
      << "the same value, however written";
}

// Every name with every list of up to three of these.
TEST(Key, other_arguments_make_another_key) {
  const std::vector<std::string> values = {"1",         "-1",     "5",       "0.5",       "1e-05",
                                           "null",      "true",   R"("")",   R"("a")",    R"("-")",
                                           R"("a-b")",  R"("1")", R"("05")", R"("1.0e")", R"("null")",
                                           R"("true")", R"(":")", R"("a:")", R"("\"")",   R"("\\")"};
  std::vector<std::vector<std::string>> lists = {{}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t v = 0; v < values.size() && lists[i].size() < 3; ++v) {
      lists.push_back(lists[i]);
      lists.back().push_back(values[v]);
    }
  }
  std::map<std::string, std::string> of;
  for (const char* const name : {"T", "T:", "T::a", "T:a", "T:\"a", "T:\":", "T:1-"}) {
    for (const auto& list : lists) {
      const Args args = Args::of_json(list);
      const std::string job = std::string(name) + " " + args.text();
      const auto [there, is_new] = of.emplace(job_key(name, {}, args).value(), job);
      ASSERT_TRUE(is_new) << there->second << " and " << job << " are both " << there->first;
    }
  }
}

TEST(Key, arguments_are_joined_by_a_hyphen_as_in_ruby_if_that_is_asked_for) {
  EXPECT_EQ(joined(Args::of(1, "a", nullptr, true)), "lock:Job:1-a--true");
  EXPECT_EQ(joined(Args::of(false, -7)), "lock:Job:false--7");
  EXPECT_EQ(joined(Args::of("", "")), "lock:Job:-");
  EXPECT_EQ(joined(Args::of("a-b", "1")), "lock:Job:a-b-1");
  EXPECT_EQ(joined(Args::of(std::optional<int>(), std::optional<int>(3))), "lock:Job:-3");
  EXPECT_EQ(joined({}), "lock:Job:");
}

TEST(Key, without_arguments_it_ends_in_a_colon) { EXPECT_EQ(key({}), "lock:Job:"); }

TEST(Key, an_identifier_that_is_none_leaves_the_colon_out) {
  EXPECT_EQ(key(Args::of(1), {.identifier = [](const Args&) { return std::nullopt; }}), "lock:Job");
  EXPECT_EQ(key(Args::of(1), {.identifier = [](const Args&) { return std::string("x"); }}), "lock:Job:x");
  EXPECT_EQ(key(Args::of(1), {.identifier = [](const Args&) { return std::string(); }}), "lock:Job:");
}

TEST(Key, a_key_of_ones_own_is_the_whole_key) {
  EXPECT_EQ(key(Args::of(1), {.lock_key = [](const Args&) { return "lock:updates"; }}), "lock:updates");
}

TEST(Key, floats_look_as_in_ruby) {
  EXPECT_EQ(joined(Args::of(2.5)), "lock:Job:2.5");
  EXPECT_EQ(key(Args::of(2.5)), "lock:Job:2.5");
  EXPECT_EQ(key(Args::of(1.0)), "lock:Job:1.0");
  EXPECT_EQ(key(Args::of(-0.0)), "lock:Job:-0.0");
  EXPECT_EQ(key(Args::of(1e15)), "lock:Job:1000000000000000.0");
  EXPECT_EQ(key(Args::of(1e16)), "lock:Job:1.0e+16");
  EXPECT_EQ(key(Args::of(1.5e20)), "lock:Job:1.5e+20");
  EXPECT_EQ(key(Args::of(0.0001)), "lock:Job:0.0001");
  EXPECT_EQ(key(Args::of(0.00001)), "lock:Job:1.0e-05");
}

TEST(Key, a_list_makes_no_key_by_itself) {
  const auto made = job_key("Job", {}, Args::of(1, std::vector<int>{1, 2}));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(
      made.error().detail,
      "cannot make a key for the job Job: argument 2 is a list or an object; give the job an identifier");
}

TEST(Key, an_object_makes_no_key_by_itself) {
  EXPECT_EQ(job_key("Job", {}, Args::of(Json{R"({"a":1})"})).error().code, Errc::invalid);
  EXPECT_EQ(key(Args::of(Json{R"({"a":1})"}), {.identifier = [](const Args&) { return "a1"; }}),
            "lock:Job:a1");
}

TEST(Key, a_name_keeps_the_colons_of_its_namespace) {
  EXPECT_EQ(job_key("Graph::Update", {}, Args::of(1)).value(), "lock:Graph::Update:1");
}

TEST(Key, one_that_is_too_long_is_refused_and_never_cut) {
  EXPECT_EQ(job_key("Job", {}, Args::of(std::string(600, 'x'))).error().code, Errc::invalid);
}

struct Custom {
  static constexpr std::string_view name = "Custom";
  static std::optional<std::string> identifier(std::int64_t id, const std::string&) {
    return std::to_string(id * 2);
  }
  void perform(JobContext&, std::int64_t, std::string_view) {}
};

TEST(Key, a_typed_job_has_the_same_key) {
  EXPECT_EQ(job_key(Custom::name, detail::options_of<Custom>(), detail::args_of<Custom>(21, "x")).value(),
            "lock:Custom:42");
}

}  // namespace
}  // namespace holdfast::test
