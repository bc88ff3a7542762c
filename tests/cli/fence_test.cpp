// SPDX-License-Identifier: Apache-2.0
// holdfast fence FILE TOKEN -- CMD: what becomes of CMD, and of the mark.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tests/cli/home.h"
#include "tests/support/file_lock.h"

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

class FenceCommand : public Home {
 protected:
  FenceCommand() {
    environment_["PATH"] =
        std::filesystem::path(HOLDFAST_BINARY).parent_path().string() + ":" + environment_["PATH"];
  }
  Ended fence(const std::string& token, const std::string& script, const Words& options = {}) const {
    Words words{"fence"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"doc", token, "--", "sh", "-c", script});
    return holdfast(words);
  }
  // At FILE until it is typed to; then it writes its token.
  Process work(const std::string& token) const {
    Process::Plan plan = holdfast_plan(
        {"fence", "doc", token, "--", "sh", "-c", "echo inside; read go; echo " + token + " >> doc"});
    plan.keep_input = true;
    return Process(plan);
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  // By somebody who is at it only when this one is gone.
  bool is_waited_for() const { return test::is_waited_for(path(".doc.fence")); }
  // Twice: a mark that the first claim wrote there would be one for the second.
  void expect_to_be_refused_and_left_alone(const std::string& text) const {
    for (int claim = 0; claim < 2; ++claim) {
      const Ended refused = fence("9", "touch ran");
      EXPECT_EQ(refused.code, 77);
      EXPECT_THAT(refused.err, HasSubstr(text.empty() ? "it is empty, so Holdfast did not write it"
                                                      : "its content is not a mark of Holdfast"));
    }
    EXPECT_EQ(text_of(".doc.fence"), text);
    EXPECT_FALSE(exists("ran"));
  }
  mode_t mode_of(const std::string& name) const {
    struct stat found {};
    return ::stat(path(name).c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
  }
};

TEST_F(FenceCommand, ends_as_the_command_does) {
  EXPECT_EQ(fence("5", "exit 7").code, 7);
  EXPECT_EQ(fence("5", "kill -TERM $$").code, 128 + SIGTERM);
  const Ended none = holdfast({"fence", "doc", "5", "--", "no-such-program"});
  EXPECT_EQ(none.code, 127);
  EXPECT_THAT(none.err, HasSubstr("cannot run \"no-such-program\""));
  EXPECT_EQ(holdfast({"fence", "doc", "5", "/etc/passwd"}).code, 126);
}

TEST_F(FenceCommand, stdin_and_signals_are_the_commands_own) {
  Process::Plan plan = holdfast_plan({"fence", "doc", "5", "sh", "-c",
                                      "trap 'echo term; exit 3' TERM; read l; echo got $l; read l; read l"});
  plan.keep_input = true;
  Process process(plan);
  process.type("a word\n");
  ASSERT_TRUE(process.await_out("got a word\n"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 3);
  EXPECT_THAT(process.out(), HasSubstr("term\n"));
}

TEST_F(FenceCommand, refuses_an_older_token_and_does_not_run_the_command) {
  EXPECT_EQ(fence("9007199254740993", "true").code, 0);
  const Ended older = fence("9007199254740992", "touch ran");
  EXPECT_EQ(older.code, 76);
  EXPECT_EQ(older.err,
            "holdfast: token 9007199254740992 is too old: doc has already seen token 9007199254740993\n");
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(fence("9007199254740993", "true").code, 0);  // the same holder again
  EXPECT_EQ(fence("9223372036854775807", "true").code, 0);
  EXPECT_EQ(fence("9007199254740993", "touch ran").code, 76);
  EXPECT_FALSE(exists("ran"));
}

TEST_F(FenceCommand, has_raised_the_mark_before_the_command_starts) {
  EXPECT_EQ(fence("255", "cat .doc.fence").out, "holdfast-fence 0000000000000000255 00000000000000ff\n");
  EXPECT_EQ(fence("256", "kill -KILL $$").code, 128 + SIGKILL);
  EXPECT_EQ(fence("255", "true").code, 76);
}

TEST_F(FenceCommand, an_older_holder_waits_behind_a_younger_one_and_is_then_refused) {
  Process younger = work("7");
  ASSERT_TRUE(younger.await_out("inside\n"));
  Process older = work("6");
  ASSERT_TRUE(await([&] { return is_waited_for(); }));
  EXPECT_EQ(older.out(), "");
  younger.type("\n");
  EXPECT_EQ(younger.wait(), 0);
  EXPECT_EQ(older.wait(), 76);
  EXPECT_EQ(text_of("doc"), "7\n");
}

TEST_F(FenceCommand, a_younger_holder_waits_until_the_older_command_has_ended) {
  Process older = work("6");
  ASSERT_TRUE(older.await_out("inside\n"));
  Process younger = work("7");
  ASSERT_TRUE(await([&] { return is_waited_for(); }));
  EXPECT_EQ(younger.out(), "");
  older.type("\n");
  ASSERT_TRUE(younger.await_out("inside\n"));
  EXPECT_EQ(text_of("doc"), "6\n");
  younger.type("\n");
  EXPECT_EQ(younger.wait(), 0);
  EXPECT_EQ(text_of("doc"), "6\n7\n");
}

TEST_F(FenceCommand, whoever_does_not_want_to_wait_is_told_who_is_there) {
  Process older = work("6");
  ASSERT_TRUE(older.await_out("inside\n"));
  for (const Words& options : {Words{"-n"}, Words{"-w", "30ms"}}) {
    const Ended busy = fence("7", "touch ran", options);
    EXPECT_EQ(busy.code, 75);
    EXPECT_EQ(
        busy.err,
        "holdfast: doc is in use by another holder under token 6; try again later, or give a longer wait\n");
  }
  EXPECT_FALSE(exists("ran"));
  Process patient = start({"fence", "-w", "30s", "doc", "7", "true"});
  older.type("\n");
  EXPECT_EQ(patient.wait(), 0);
}

TEST_F(FenceCommand, one_that_waits_ends_when_it_is_told_to) {
  Process older = work("6");
  ASSERT_TRUE(older.await_out("inside\n"));
  Process younger = work("7");
  ASSERT_TRUE(await([&] { return is_waited_for(); }));
  younger.signal(SIGTERM);
  EXPECT_EQ(younger.wait(), 128 + SIGTERM);
  EXPECT_EQ(younger.out(), "");
}

TEST_F(FenceCommand, what_the_command_leaves_running_holds_on_to_the_file) {
  // Its end would take all of its session with it.
  Process process = start({"fence", "doc", "6", "sh", "-c", "sleep 1000 >&- 2>&- & echo $!"});
  ASSERT_EQ(process.wait(), 0) << process.err();
  const pid_t left = std::stoi(process.out());
  EXPECT_EQ(fence("7", "true", {"-n"}).code, 75);
  EXPECT_TRUE(send_signal(left, SIGKILL));
  EXPECT_EQ(fence("7", "true", {"-w", "20s"}).code, 0);
}

TEST_F(FenceCommand, killed_it_leaves_nothing_behind_that_works) {
  Process older = work("6");
  ASSERT_TRUE(older.await_out("inside\n"));
  older.signal(SIGKILL);
  EXPECT_EQ(older.wait(), 128 + SIGKILL);
  EXPECT_EQ(fence("7", "true", {"-w", "20s"}).code, 0);
  EXPECT_FALSE(exists("doc"));
}

TEST_F(FenceCommand, has_the_token_of_the_lease_that_it_is_run_under) {
  const Ended ended = holdfast({"run", "k", "--", "sh", "-c",
                                "echo $HOLDFAST_TOKEN; exec holdfast fence doc $HOLDFAST_TOKEN -- sed 's/.* "
                                "0*\\(.*\\) .*/\\1/' .doc.fence"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string token = ended.out.substr(0, ended.out.find('\n') + 1);
  EXPECT_EQ(ended.out, token + token);
}

TEST_F(FenceCommand, of_many_at_once_each_comes_behind_the_older_ones_or_not_at_all) {
  std::vector<Process> all;
  for (int i = 0; i < 12; ++i) {
    const std::string token = std::to_string(100 + i * 7 % 12);  // in no order
    all.push_back(start({"fence", "doc", token, "sh", "-c", "echo " + token + " >> doc"}));
  }
  for (Process& process : all) {
    const int code = process.wait();
    EXPECT_TRUE(code == 0 || code == 76) << code << process.err();
  }
  std::istringstream lines(text_of("doc"));
  int last = 0;
  for (int token = 0; lines >> token; last = token) EXPECT_GT(token, last);
  EXPECT_EQ(last, 111);
  for (const auto& entry : std::filesystem::directory_iterator(path("")))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".holdfast-fence.")) << entry.path();
}

TEST_F(FenceCommand, the_mark_is_that_of_the_name_whatever_becomes_of_the_file) {
  EXPECT_EQ(fence("6", "echo new > doc.new; mv doc.new doc").code, 0);
  EXPECT_EQ(fence("5", "true").code, 76);
  EXPECT_EQ(fence("6", "rm doc").code, 0);
  EXPECT_EQ(fence("5", "true").code, 76);
  EXPECT_EQ(fence("6", "mkdir doc").code, 0);
  EXPECT_EQ(holdfast({"fence", "doc/", "5", "true"}).code, 76);
  EXPECT_EQ(holdfast({"fence", "doc/.", "5", "true"}).code, 76);
}

// Bob, who is younger, switches it; ann's token must not be let at what it stands for then.
TEST_F(FenceCommand, a_symbolic_link_is_refused_before_and_after_it_is_switched) {
  for (const char* const name : {"v1", "v2"}) std::filesystem::create_directory(path(name));
  std::filesystem::create_directory_symlink("v1", path("current"));
  const Ended bob = holdfast({"fence", "current", "20", "--", "ln", "-sfn", "v2", "current"});
  EXPECT_EQ(bob.code, 77);
  EXPECT_THAT(bob.err, HasSubstr("cannot fence current: it is a symbolic link, and its target can change"));
  EXPECT_THAT(bob.err, HasSubstr("give the target, /"));
  EXPECT_THAT(bob.err, HasSubstr("/v1\n"));
  std::filesystem::remove(path("current"));
  // Nor if it became one only under the fence.
  EXPECT_EQ(holdfast({"fence", "current", "20", "--", "ln", "-sfn", "v2", "current"}).code, 0);
  EXPECT_EQ(holdfast({"fence", "current", "10", "--", "touch", "ran"}).code, 77);
  EXPECT_FALSE(exists("ran"));
}

TEST_F(FenceCommand, two_ways_to_one_file_have_one_mark) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_directory_symlink("folder", path("way"));
  EXPECT_EQ(holdfast({"fence", "way/doc", "6", "true"}).code, 0);
  EXPECT_EQ(holdfast({"fence", "folder/doc", "5", "true"}).code, 76);
  std::filesystem::create_symlink("nothing", path("dangling"));
  const Ended dangling = holdfast({"fence", "dangling", "6", "true"});
  EXPECT_EQ(dangling.code, 77);
  EXPECT_THAT(dangling.err, HasSubstr("dangling: it is a symbolic link whose target does not exist"));
}

TEST_F(FenceCommand, refuses_a_mark_that_it_cannot_believe) {
  for (const std::string text :
       {"5\n", "holdfast-fence 0000000000000000005 0000000000000006\n", "holdfast-fence 00000000000000000",
        "holdfast-fence 0000000000000000005 0000000000000005\nand more"}) {
    put(".doc.fence", text);
    const Ended refused = fence("9", "touch ran");
    EXPECT_EQ(refused.code, 77) << text;
    EXPECT_THAT(refused.err, HasSubstr("/.doc.fence: its content is not a mark of Holdfast"));
    EXPECT_EQ(text_of(".doc.fence"), text);
  }
  EXPECT_FALSE(exists("ran"));
}

TEST_F(FenceCommand, does_not_write_through_what_somebody_put_in_the_place_of_the_mark) {
  put("precious", "");
  std::filesystem::create_symlink("precious", path(".doc.fence"));
  EXPECT_THAT(fence("9", "true").err, HasSubstr("it is a symbolic link"));
  std::filesystem::remove(path(".doc.fence"));
  std::filesystem::create_hard_link(path("precious"), path(".doc.fence"));
  EXPECT_THAT(fence("9", "true").err, HasSubstr("it has a second name"));
  std::filesystem::remove(path(".doc.fence"));
  ASSERT_EQ(::mkfifo(path(".doc.fence").c_str(), 0600), 0);
  const Ended fifo = fence("9", "true");
  EXPECT_EQ(fifo.code, 77);
  EXPECT_THAT(fifo.err, HasSubstr("it is not a regular file"));
  EXPECT_EQ(text_of("precious"), "");
}

// Who may rename in the folder can put any file there: it is not made FILE's before it is known to be a mark.
TEST_F(FenceCommand, a_private_file_that_was_moved_to_the_place_of_the_mark_stays_private) {
  put("doc", "");
  ASSERT_EQ(::chmod(path("").c_str(), 02770), 0);
  ASSERT_EQ(::chmod(path("doc").c_str(), 0660), 0);
  for (const std::string text : {"my secret\n", ""}) {  // what is empty may be waiting for its secret
    put(".doc.fence", text);
    ASSERT_EQ(::chmod(path(".doc.fence").c_str(), 0600), 0);
    expect_to_be_refused_and_left_alone(text);
    EXPECT_EQ(mode_of(".doc.fence"), 0600U) << text;
  }
}

TEST_F(FenceCommand, root_s_file_that_was_moved_to_the_place_of_the_mark_stays_root_s) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has files to give away";
  put("doc", "");
  for (const char* const name : {"", "doc"}) ASSERT_EQ(::chown(path(name).c_str(), 12345, 12346), 0);
  for (const std::string text : {"root's secret\n", ""}) {
    put(".doc.fence", text);
    ASSERT_EQ(::chmod(path(".doc.fence").c_str(), 0600), 0);
    expect_to_be_refused_and_left_alone(text);
    struct stat mark {};
    ASSERT_EQ(::stat(path(".doc.fence").c_str(), &mark), 0);
    EXPECT_EQ(mark.st_uid, 0U) << text;
    EXPECT_EQ(mark.st_gid, 0U) << text;
    EXPECT_EQ(mark.st_mode & 0777U, 0600U) << text;
  }
}

// FILE has another owner when the wait is over.
TEST_F(FenceCommand, a_mark_follows_the_file_that_is_there_when_it_is_claimed) {
  put("doc", "");
  ASSERT_EQ(::chmod(path("doc").c_str(), 0600), 0);
  Process older = work("6");
  ASSERT_TRUE(older.await_out("inside\n"));
  Process younger = start({"fence", "doc", "7", "true"});
  ASSERT_TRUE(await([&] { return is_waited_for(); }));
  ASSERT_EQ(::chmod(path("doc").c_str(), 0660), 0);
  older.type("\n");
  EXPECT_EQ(older.wait(), 0);
  EXPECT_EQ(younger.wait(), 0);
  EXPECT_EQ(mode_of(".doc.fence"), 0660U);
}

TEST_F(FenceCommand, refuses_the_mark_of_somebody_who_may_not_write_the_file) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  put("doc", "");
  EXPECT_EQ(fence("5", "true").code, 0);
  ASSERT_EQ(::chown(path(".doc.fence").c_str(), 12345, 12345), 0);
  const Ended refused = fence("6", "touch ran");
  EXPECT_EQ(refused.code, 77);
  EXPECT_THAT(refused.err, HasSubstr("it belongs to a user who may not write the fenced file (uid 12345)"));
  EXPECT_FALSE(exists("ran"));
}

TEST_F(FenceCommand, believes_a_stranger_s_mark_only_where_the_stranger_may_write_the_file) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  put("doc", "");
  EXPECT_EQ(fence("5", "true").code, 0);
  const auto code = [&](mode_t of_file, gid_t group, mode_t of_mark) {
    EXPECT_EQ(::chmod(path("doc").c_str(), of_file), 0);
    EXPECT_EQ(::chown(path(".doc.fence").c_str(), 12345, group), 0);
    EXPECT_EQ(::chmod(path(".doc.fence").c_str(), of_mark), 0);
    return fence("6", "true").code;
  };
  EXPECT_EQ(::chown(path("doc").c_str(), 0, 12346), 0);
  EXPECT_EQ(code(0664, 12345, 0660), 77) << "of another group than may write the file";
  EXPECT_EQ(code(0664, 12346, 0666), 77) << "anybody may have raised it";
  EXPECT_EQ(code(0644, 12346, 0660), 77) << "the group may not";
  EXPECT_EQ(code(0664, 12346, 0660), 0);
  EXPECT_EQ(code(0666, 12345, 0666), 0) << "anybody may";
}

TEST_F(FenceCommand, who_may_write_the_file_may_claim_it_in_a_folder_that_is_not_to_be_read) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  put("doc", "");
  ASSERT_EQ(::chmod(path("doc").c_str(), 0666), 0);
  EXPECT_EQ(fence("5", "true").code, 0);
  std::filesystem::copy_file(HOLDFAST_BINARY, path("holdfast"));  // where somebody else can come to it
  ASSERT_EQ(::chmod(path("").c_str(), 0711), 0);
  Process process(plan({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", path("holdfast"),
                        "fence", path("doc"), "6", "--", "true"}));
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(FenceCommand, who_may_write_the_file_may_claim_it_and_nobody_else_can_open_the_mark) {
  EXPECT_EQ(fence("5", "umask 0; echo > doc; chmod 644 doc").code, 0);
  EXPECT_EQ(mode_of(".doc.fence"), 0600U);
  std::filesystem::permissions(path("doc"), std::filesystem::perms{0664});
  EXPECT_EQ(fence("5", "true").code, 0);
  EXPECT_EQ(mode_of(".doc.fence"), 0660U);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path("doc").c_str(), 12345, 12346), 0);
  EXPECT_EQ(fence("5", "true").code, 0);
  struct stat mark {};
  ASSERT_EQ(::stat(path(".doc.fence").c_str(), &mark), 0);
  EXPECT_EQ(mark.st_uid, 12345U);
  EXPECT_EQ(mark.st_gid, 12346U);
}

TEST_F(FenceCommand, says_in_one_sentence_what_is_wrong) {
  const std::pair<Words, const char*> wrong[] = {
      {{"fence", "doc", "0", "true"}, "TOKEN \"0\" is not a token"},
      {{"fence", "doc", "9223372036854775808", "true"}, "is not a token"},
      {{"fence", "doc", "5"}, "CMD is missing"},
      {{"fence"}, "FILE and TOKEN are missing"},
      {{"fence", "doc"}, ": TOKEN is missing"},
      {{"fence", "doc", "--", "true"}, ": TOKEN is missing"},
      {{"fence", "doc", "-5", "--", "true"}, "unknown option \"-5\" for fence"},
      {{"fence", "-n", "-w", "1s", "doc", "5", "true"}, "exclude each other"},
      {{"fence", "/", "5", "true"}, "cannot fence /: it has no parent folder for the mark"},
      {{"fence", "--code", "oracle"},
       "--code \"oracle\" is unknown; give sqlite, postgres, redis or mariadb"},
      {{"fence", "--code", "redis", "doc"}, "leave out \"doc\""},
  };
  for (const auto& [words, sentence] : wrong) {
    const Ended ended = holdfast(words);
    EXPECT_EQ(ended.code, 64) << sentence;
    EXPECT_THAT(ended.err, HasSubstr(sentence));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
  EXPECT_EQ(holdfast({"fence", "no/such/folder", "5", "true"}).code, 77);
  EXPECT_TRUE(is_empty());
}

}  // namespace
}  // namespace holdfast::test
