// SPDX-License-Identifier: Apache-2.0
// Enqueueing jobs by the command, looking at them, and what an operator does to them.
#include "tests/cli/jobs_home.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

using Jobs = JobsHome;

TEST_P(Jobs, words_are_what_they_look_like_in_json) {
  const std::string id = enqueue({"Mix", "1", "-2.5", "true", "null", "007", "word", "\"8\"", "two words"});
  EXPECT_EQ(job(id)["args"], nlohmann::json::parse(R"([1,-2.5,true,null,"007","word","8","two words"])"));
  const std::string nested = enqueue({"Mix", "--key", "k", "[1,2]", "{\"a\":1}", "--", "--loner"});
  EXPECT_EQ(job(nested)["args"], nlohmann::json::parse(R"([[1,2],{"a":1},"--loner"])"));
  EXPECT_EQ(job(nested)["key"], "k");
  const std::string whole = enqueue({"Mix", "--args", "[\"a\", 2]"});
  EXPECT_EQ(job(whole)["args"], nlohmann::json::parse(R"(["a",2])"));
  EXPECT_EQ(job(whole)["key"], "lock:Mix:a-2");
}

TEST_P(Jobs, options_reach_the_job) {
  const std::string id =
      enqueue({"Opt", "--lock-timeout", "5m", "--limit", "3", "--on-conflict", "wait", "--queue", "slow",
               "--priority", "-7", "--attempts", "4", "--unique", "until_start", "--in", "1h"});
  const auto row = job(id);
  EXPECT_EQ(row["lock_ttl_ms"], 300'000);
  EXPECT_EQ(row["lock_fixed"], true);
  EXPECT_EQ(row["limit"], 3);
  EXPECT_EQ(row["on_conflict"], "wait");
  EXPECT_EQ(row["queue"], "slow");
  EXPECT_EQ(row["priority"], -7);
  EXPECT_EQ(row["max_attempts"], 4);
  EXPECT_EQ(row["unique"], "until_start");
  EXPECT_EQ(row["run_at_us"].get<std::int64_t>() - row["enqueued_at_us"].get<std::int64_t>(), 3'600'000'000);
  EXPECT_EQ(job(enqueue({"At", "--at", "2100-01-01T01:00:00.5+01:00"}))["run_at_us"], 4102444800500000);
}

TEST_P(Jobs, a_loner_is_enqueued_once_and_the_second_is_10_with_the_first_ones_number) {
  const std::string id = enqueue({"Lone", "1", "--loner"});
  const Ended second = holdfast({"jobs", "enqueue", "Lone", "1", "--loner"});
  EXPECT_EQ(second.code, 10);
  EXPECT_EQ(second.out, id + "\n");
  EXPECT_THAT(
      second.err,
      MatchesRegex("holdfast: not enqueued: job " + id +
                   " with the key lock:Lone:1 is already queued \\(enqueued at [-0-9]+ [:0-9]+Z\\)\n"));
  const Ended as_json = holdfast({"jobs", "enqueue", "Lone", "1", "--loner", "--json"});
  EXPECT_EQ(as_json.code, 10);
  EXPECT_EQ(lines_of(as_json.out).at(0)["what"], "duplicate");
  EXPECT_NE(enqueue({"Lone", "2", "--loner"}), id);
  EXPECT_EQ(job(id)["duplicates"], 2);
}

TEST_P(Jobs, the_number_of_a_duplicate_comes_before_its_explanation) {
  const std::string id = enqueue({"Lone", "--loner"});
  Process both(plan({"sh", "-c", HOLDFAST_BINARY " jobs enqueue Lone --loner 2>&1"}));
  EXPECT_EQ(both.wait(), 10);
  EXPECT_THAT(both.out(), StartsWith(id + "\nholdfast: not enqueued"));
}

TEST_P(Jobs, a_window_lets_one_in) {
  handler("Win", "exit 0");
  const std::string id = enqueue({"Win", "--window", "1000d"});
  ASSERT_EQ(work_once().code, 0);
  const Ended second = holdfast({"jobs", "enqueue", "Win", "--window", "1000d"});
  EXPECT_EQ(second.code, 10);
  EXPECT_THAT(second.err, MatchesRegex("holdfast: not enqueued: job " + id +
                                       " with the key lock:Win: was already enqueued in this window "
                                       "\\(enqueued at [-0-9]+ [:0-9]+Z\\)\n"));
}

TEST_P(Jobs, a_loner_whose_lock_somebody_holds_is_75_and_names_the_holder) {
  ASSERT_EQ(holdfast({"acquire", "lock:Lone:1", "--owner", "olga"}).code, 0);
  const Ended ended = holdfast({"jobs", "enqueue", "Lone", "1", "--loner"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("lock:Lone:1 is held by olga"));
  EXPECT_EQ(lines_of(holdfast({"jobs", "enqueue", "Lone", "1", "--loner", "--json"}).out).at(0)["owner"],
            "olga");
}

TEST_P(Jobs, replace_gives_the_queued_one_the_new_arguments) {
  const Words words{"Rep", "--key", "k", "--loner", "--on-conflict", "replace", "--args"};
  Words first = words, second = words;
  first.push_back("[1]");
  second.push_back("[2]");
  const std::string id = enqueue(first);
  EXPECT_EQ(enqueue(second), id);
  EXPECT_EQ(job(id)["args"], nlohmann::json::parse("[2]"));
}

TEST_P(Jobs, ls_shows_what_queued_jobs_wait_for) {
  handler("Wait", "exit 0");
  ASSERT_EQ(holdfast({"acquire", "lock:Wait:", "--owner", "olga"}).code, 0);
  const std::string parked = enqueue({"Wait", "--lock"});
  const std::string later = enqueue({"Later", "--at", "2100-01-01T00:00:00Z"});
  ASSERT_EQ(work_once().code, 0);
  const Ended ls = holdfast({"jobs", "ls"});
  EXPECT_THAT(ls.out, StartsWith("ID"));
  EXPECT_THAT(ls.out, MatchesRegex("(.|\n)*" + parked + " +queued +Wait .*waiting for its lock\n(.|\n)*"));
  EXPECT_THAT(ls.out, MatchesRegex("(.|\n)*" + later +
                                   " +queued +Later .*scheduled for 2100-01-01 00:00:00Z\n(.|\n)*"));
  EXPECT_THAT(holdfast({"jobs", "show", parked}).out, HasSubstr("olga, which holds lock:Wait:"));
}

TEST_P(Jobs, json_is_ascii_and_says_the_same) {
  const std::string text = "k\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\x8b\xc3\xbc";
  const auto expect_plain = [](const Ended& ended) {
    EXPECT_NE(ended.out, "") << ended.err;
    for (const char c : ended.out) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n') << ended.out;
  };
  const Ended enqueued =
      holdfast({"--json", "jobs", "enqueue", text, text, "--queue", text, "--key", text, "--loner"});
  expect_plain(enqueued);
  expect_plain(
      holdfast({"--json", "jobs", "enqueue", text, text, "--queue", text, "--key", text, "--loner"}));
  const std::string id = nlohmann::json::parse(enqueued.out)["id"].dump();
  for (const Ended& ended : {holdfast({"--json", "jobs", "ls"}), holdfast({"--json", "jobs", "show", id})}) {
    expect_plain(ended);
    const auto job = nlohmann::json::parse(ended.out);
    for (const char* const field : {"name", "queue", "key"}) EXPECT_EQ(job[field], text) << field;
    EXPECT_EQ(job["args"], nlohmann::json::array({text}));
  }
  expect_plain(holdfast({"--json", "jobs", "work", "--exec", "handlers/none", "--queue", text, "--once"}));
  expect_plain(holdfast({"--json", "explain", "job:" + id}));
}

TEST_P(Jobs, ls_shows_what_is_asked_for) {
  const std::string a = enqueue({"A", "--queue", "q"});
  const std::string b = enqueue({"B", "--key", "k"});
  ASSERT_EQ(holdfast({"jobs", "cancel", a}).code, 0);
  const auto ids = [&](Words words) {
    words.insert(words.begin(), {"jobs", "ls", "--json"});
    std::vector<std::string> all;
    for (const auto& line : lines_of(holdfast(words).out)) all.push_back(line["id"].dump());
    return all;
  };
  EXPECT_THAT(ids({}), ElementsAre(b, a));
  EXPECT_THAT(ids({"--state", "cancelled"}), ElementsAre(a));
  EXPECT_THAT(ids({"--queue", "q"}), ElementsAre(a));
  EXPECT_THAT(ids({"--name", "B"}), ElementsAre(b));
  EXPECT_THAT(ids({"--key", "k"}), ElementsAre(b));
  EXPECT_THAT(ids({"--limit", "1"}), ElementsAre(b));
}

TEST_P(Jobs, cancel_retry_and_rm_report_what_they_did_and_refuse_other_states) {
  const std::string id = enqueue({"Op"});
  const Ended unfit = holdfast({"jobs", "retry", id});
  EXPECT_EQ(unfit.code, 64);
  EXPECT_THAT(unfit.err, HasSubstr("cannot retry job " + id + ": it is queued"));
  EXPECT_EQ(holdfast({"jobs", "cancel", id}).out, "job " + id + " Op is cancelled\n");
  EXPECT_EQ(holdfast({"jobs", "cancel", id}).code, 64);
  EXPECT_EQ(holdfast({"jobs", "retry", id}).out, "job " + id + " Op is queued again\n");
  EXPECT_EQ(state(id), "queued");
  EXPECT_EQ(holdfast({"jobs", "rm", id}).out, "job " + id + " Op is removed\n");
  for (const char* const what : {"show", "retry", "cancel", "rm"}) {
    const Ended gone = holdfast({"jobs", what, id});
    EXPECT_EQ(gone.code, 64) << what;
    EXPECT_THAT(gone.err, HasSubstr("there is no job " + id));
  }
  const std::string other = enqueue({"Op"});
  const Ended both = holdfast({"jobs", "cancel", "999999999", other});
  EXPECT_EQ(both.code, 64);
  EXPECT_EQ(state(other), "cancelled") << "the others are done all the same";
}

TEST_P(Jobs, locked_and_enqueued_answer_by_their_exit_codes) {
  enqueue({"Other"});
  EXPECT_EQ(holdfast({"jobs", "enqueued", "Ask", "1"}).code, 1);
  const std::string id = enqueue({"Ask", "1"});
  const Ended queued = holdfast({"jobs", "enqueued", "Ask", "1"});
  EXPECT_EQ(queued.code, 0);
  EXPECT_EQ(queued.out, id + "\n");
  EXPECT_EQ(holdfast({"jobs", "enqueued", "--key", "lock:Ask:1"}).code, 0);
  EXPECT_EQ(holdfast({"jobs", "enqueued", "Ask", "2"}).code, 1);
  EXPECT_EQ(holdfast({"jobs", "locked", "Ask", "1"}).code, 1);
  ASSERT_EQ(holdfast({"acquire", "lock:Ask:1", "--owner", "olga"}).code, 0);
  const Ended locked = holdfast({"jobs", "locked", "Ask", "1"});
  EXPECT_EQ(locked.code, 0);
  EXPECT_EQ(locked.out, "olga\n");
  ASSERT_EQ(holdfast({"acquire", "many#2", "--owner", "ben"}).code, 0);
  EXPECT_EQ(holdfast({"jobs", "locked", "--key", "many"}).code, 1);
  EXPECT_EQ(holdfast({"jobs", "locked", "--key", "many", "--limit", "3"}).out, "ben\n");
}

TEST_F(Home, arguments_that_are_nested_too_deep_are_refused_and_shown_as_a_text) {
  const std::string deep = std::string(50'000, '[') + std::string(50'000, ']');
  for (const Words& words : {Words{"jobs", "enqueue", "Deep", "--key", "k", "--args", deep},
                             Words{"jobs", "enqueue", "Deep", "--key", "k", deep}}) {
    const Ended refused = holdfast(words);
    EXPECT_EQ(refused.code, 64);
    EXPECT_THAT(refused.err,
                HasSubstr("is nested deeper than 100 levels; pass the inner part as a string\n"));
    EXPECT_LT(refused.err.size(), 500u);
  }
  ASSERT_EQ(holdfast({"jobs", "enqueue", "Deep", "--key", "k"}).code, 0);
  // As one writes a row who does not ask us.
  Process sqlite(plan({"sqlite3", path(".local/state/holdfast/leases.db"),
                       "UPDATE holdfast_jobs SET args = replace(hex(zeroblob(100000)), '00', '[') || "
                       "replace(hex(zeroblob(100000)), '00', ']')"}));
  ASSERT_EQ(sqlite.wait(), 0) << sqlite.err();
  for (const Words& words : {Words{"jobs", "ls", "--json"}, Words{"jobs", "show", "1", "--json"}}) {
    const Ended shown = holdfast(words);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("\"args\":\"[[["));
  }
}

TEST_F(Home, a_layout_that_keeps_no_jobs_refuses_them_with_77_and_a_sentence) {
  for (const Kind& kind : shared_kinds()) {
    if (kind.name != "mongo_lock") continue;
    const auto database = kind.make();
    environment_["HOLDFAST_STORE"] = database->url();
    for (const Words& words : {Words{"jobs", "ls"}, Words{"jobs", "enqueue", "X"}, Words{"jobs", "show", "1"},
                               Words{"jobs", "work", "--exec", "true"}, Words{"explain", "job:1"}}) {
      SCOPED_TRACE(::testing::PrintToString(words));
      const Ended ended = holdfast(words);
      EXPECT_EQ(ended.code, 77);
      EXPECT_EQ(ended.out, "");
      EXPECT_THAT(ended.err, MatchesRegex("holdfast: [^\n]*mongo-lock[^\n]*jobs[^\n]*\n"));
    }
    return;
  }
  GTEST_SKIP() << "MongoDB is not installed";
}

TEST_F(Home, looking_at_jobs_makes_nothing) {
  for (const Words& words :
       {Words{"jobs", "ls"}, Words{"jobs", "show", "1"}, Words{"jobs", "rm", "1"},
        Words{"jobs", "locked", "X"}, Words{"jobs", "enqueued", "X"}, Words{"explain", "k"}}) {
    const Ended ended = holdfast(words);
    EXPECT_THAT(ended.err, HasSubstr("nobody has used this store yet"));
    EXPECT_TRUE(is_empty()) << words.back();
  }
}

TEST_F(Home, a_store_of_jobs_that_cannot_be_reached_is_69) {
  environment_["HOLDFAST_STORE"] = "redis://127.0.0.1:1";
  for (const Words& words :
       {Words{"jobs", "enqueue", "X"}, Words{"jobs", "work", "--exec", "true"}, Words{"jobs", "ls"},
        Words{"jobs", "show", "1"}, Words{"jobs", "retry", "1"}, Words{"jobs", "locked", "X"},
        Words{"explain", "k"}, Words{"run", "-n", "--tick", "1h", "k", "true"}}) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 69) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("127.0.0.1"));
  }
}

struct Mistake {
  std::vector<std::string> words;
  std::string names;
  std::string right;
};
const Mistake mistakes[] = {
    {{"jobs"}, "no command of jobs", "holdfast help jobs"},
    {{"jobs", "frob"}, "unknown command \"frob\" of jobs", "holdfast help jobs"},
    {{"help", "jobs", "frob"}, "\"frob\"", "holdfast help jobs"},
    {{"jobs", "enqueue"}, "NAME is missing", "holdfast jobs enqueue NAME"},
    {{"jobs", "enqueue", "--frob", "X"}, "\"--frob\"", "holdfast help jobs enqueue"},
    {{"jobs", "enqueue", "X", "[1]", "--lock"}, "a list or an object", "--key"},
    {{"jobs", "enqueue", "X", "1", "--args", "[]"}, "--args", "give one of them"},
    {{"jobs", "enqueue", "X", "--args", "{}"}, "\"{}\"", "JSON array"},
    {{"jobs", "enqueue", "X", "123456789012345678901234567890"}, "123456789012345678901234567890", "string"},
    {{"jobs", "enqueue", "X", "\xff"}, "\\xff", "UTF-8"},
    {{"jobs", "enqueue", "X", "--at", "tomorrow"}, "\"tomorrow\"", "2026-11-15T02:00:00Z"},
    {{"jobs", "enqueue", "X", "--at", "2026-02-30T00:00:00Z"}, "2026-02-30", "2026-11-15T02:00:00Z"},
    {{"jobs", "enqueue", "X", "--at", "2100-01-01T00:00:00Z", "--in", "1s"}, "--in", "give one of them"},
    {{"jobs", "enqueue", "X", "--unique", "often"}, "\"often\"", "loner, until_start or until_success"},
    {{"jobs", "enqueue", "X", "--loner", "--unique", "until_start"},
     "--loner and --unique",
     "give one of them"},
    {{"jobs", "enqueue", "X", "--on-conflict", "cry"}, "\"cry\"", "drop, wait, raise or replace"},
    {{"jobs", "enqueue", "X", "--limit", "1001"}, "\"1001\"", "from 0 to 1000"},
    {{"jobs", "enqueue", "X", "--attempts", "0"}, "\"0\"", "from 1"},
    {{"jobs", "enqueue", "X", "--lock-timeout", "5"}, "\"5\"", "30s"},
    {{"jobs", "enqueue", "X", "--lock-timeout", "1ms"}, "--lock-timeout 1ms", "20ms"},
    {{"jobs", "enqueue", "X", "--timeout", "1h"}, "--lock-timeout, which ends the lock", "--at-most"},
    {{"jobs", "enqueue", "X", "--window", "0s"}, "--window 0s", "longer"},
    {{"jobs", "work"}, "--exec is missing", "handlers/{name}"},
    {{"jobs", "work", "--exec", "{name}"}, "\"{name}\"", "handlers/{name}"},
    {{"jobs", "work", "--exec", "x", "--threads", "0"}, "\"0\"", "from 1 to 1000"},
    {{"jobs", "work", "--exec", "x", "--claim", "1ms"}, "--claim 1ms", "100ms"},
    {{"jobs", "work", "more", "--exec", "x"}, "\"more\"", "holdfast help jobs work"},
    {{"jobs", "ls", "--state", "odd"}, "\"odd\"", "queued, running, done, dead, dropped or cancelled"},
    {{"jobs", "show"}, "ID is missing", "holdfast jobs show ID"},
    {{"jobs", "show", "x"}, "\"x\" is not the number of a job", "holdfast jobs ls"},
    {{"jobs", "show", "1", "2"}, "\"2\"", "holdfast help jobs show"},
    {{"jobs", "rm", "0"}, "\"0\" is not the number of a job", "holdfast jobs ls"},
    {{"jobs", "locked", "X", "--key", "k"}, "--key", "give one of them"},
    {{"explain"}, "KEY or JOB is missing", "holdfast explain"},
    {{"run", "--tick", "0s", "k", "true"}, "--tick 0s", "longer"},
    {{"run", "--every", "1", "k", "true"}, "--every: \"1\"", "30s"},
    {{"run", "--tick", "1h", "--every", "1h", "k", "true"}, "--tick 1h and --every 1h", "give one of them"},
};

TEST_F(Home, every_mistake_about_jobs_is_64_and_one_sentence) {
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(::testing::PrintToString(mistake.words));
    const Ended ended = holdfast(mistake.words);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr(mistake.names));
    EXPECT_THAT(ended.err, HasSubstr(mistake.right));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(Home, every_command_of_jobs_has_a_page_with_two_examples) {
  for (const char* const name :
       {"enqueue", "work", "ls", "show", "retry", "cancel", "rm", "locked", "enqueued"}) {
    const Ended page = holdfast({"jobs", name, "--help"});
    EXPECT_EQ(page.code, 0);
    EXPECT_THAT(page.out, StartsWith("usage: holdfast jobs " + std::string(name)));
    const std::string example = "\n  holdfast jobs " + std::string(name);
    const std::size_t first = page.out.find(example);
    EXPECT_NE(page.out.find(example, first + 1), std::string::npos) << page.out;
    EXPECT_EQ(holdfast({"help", "jobs", name}).out, page.out);
  }
}

HOLDFAST_ON_EVERY_SHARED_STORE_OF_JOBS(Jobs);

}  // namespace
}  // namespace holdfast::test
