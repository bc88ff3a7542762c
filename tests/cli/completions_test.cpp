// SPDX-License-Identifier: Apache-2.0
// The real shells complete our commands; man reads our pages; `version --verbose`.
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/cli/home.h"

namespace holdfast::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class Shells : public Home {
 protected:
  Shells() {
    const std::string folder = std::filesystem::path(HOLDFAST_BINARY).parent_path().string();
    environment_["PATH"] = folder + ":/usr/bin:/bin";
    environment_["TERM"] = "dumb";
    environment_["HISTFILE"] = "/dev/null";
    std::ofstream(path("secret-url")) << "sqlite:elsewhere.db\n";
  }

  // The shell at its prompt, with our completions.  `holdfast` is then what shows its words.
  Process shell(const std::string& name) const {
    Process::Plan how =
        plan(name == "zsh" ? Words{"zsh", "-f", "-i"} : Words{"bash", "--norc", "--noprofile", "-i"});
    how.on_terminal = true;
    Process process(how);
    if (name == "zsh") process.type("autoload -U compinit; compinit -u -D\r");
    process.type("source <(command holdfast completions " + name + ")\r");
    process.type("holdfast() { printf '<''%s>' \"$@\"; echo '<''end>'; }; echo on''line\r");
    EXPECT_TRUE(process.await_out("online")) << process.out();
    return process;
  }
  // The words of the command line after the line was typed, and TAB.
  static std::string completed(Process& shell, const std::string& line) {
    const std::size_t before = shell.out().size();
    shell.type(line + "\t\r");
    EXPECT_TRUE(await([&] { return shell.out().find("<end>", before) != std::string::npos; })) << shell.out();
    const std::string& all = shell.out();
    const std::size_t end = all.find("<end>", before);
    const std::size_t begin = all.rfind('\n', end);
    return all.substr(begin + 1, end - begin - 1);
  }
  std::string fish(const std::string& line) const {
    Process process(plan(
        {"fish", "--no-config", "-c", "holdfast completions fish | source; complete -C '" + line + "'"}));
    EXPECT_EQ(process.wait(), 0) << process.err();
    EXPECT_EQ(process.err(), "");
    return process.out();
  }
  // The holdfast of PATH is then this line of a script, and the real one behind it.
  void call_before_holdfast(const std::string& line) {
    std::filesystem::create_directory(path("bin"));
    std::ofstream(path("bin/holdfast")) << "#!/bin/sh\n" << line << "\nexec " HOLDFAST_BINARY " \"$@\"\n";
    std::filesystem::permissions(path("bin/holdfast"), std::filesystem::perms::owner_all);
    environment_["PATH"] = path("bin") + ":/usr/bin:/bin";
  }
  // Keys are asked for only so long as one waits at a prompt, which a busy machine may exceed: then one types
  // it again.  `all` is what is offered if it is fish, and else what the line becomes.
  static void expect_in_time(const std::function<std::string()>& type, const std::string& all) {
    std::string seen;
    EXPECT_TRUE(await([&] { return (seen = type()) == all; })) << seen << " instead of " << all;
  }
  void take(const std::string& key) const {
    const Ended ended = holdfast({"acquire", key, "--owner", "me", "--ttl", "1h"});
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
};

struct Line {
  const char* typed;
  const char* before;  // the words of it that stay
  const char* last;    // what the last becomes
};
constexpr Line lines[] = {
    {"holdfast ru", "", "run"},
    {"holdfast --sto", "", "--store"},
    {"holdfast run --on-l", "<run>", "--on-lost"},
    {"holdfast run --on-lost k", "<run><--on-lost>", "kill"},
    {"holdfast run --on-lost=ig", "<run>", "--on-lost=ignore"},
    {"holdfast run -w 5s --tt", "<run><-w><5s>", "--ttl"},
    {"holdfast ls --sort w", "<ls><--sort>", "waiting"},
    {"holdfast jobs w", "<jobs>", "work"},
    {"holdfast --json jobs ls --state q", "<--json><jobs><ls><--state>", "queued"},
    {"holdfast help jobs canc", "<help><jobs>", "cancel"},
    {"holdfast completions f", "<completions>", "fish"},
    {"holdfast --store @secr", "<--store>", "@secret-url"},
    {"holdfast fence secr", "<fence>", "secret-url"},
    {"holdfast show nig", "<show>", "nightly/backup"},
    {"holdfast --store sqlite:other.db show ot", "<--store><sqlite:other.db><show>", "other:key"},
    {"holdfast run -n nightly/backup -- truncat", "<run><-n><nightly/backup><-->", "truncate"},
    {"holdfast run nightly/backup cat --all secr", "<run><nightly/backup><cat><--all>", "secret-url"},
};

class EachShell : public Shells, public ::testing::WithParamInterface<const char*> {};

TEST_P(EachShell, completes_commands_options_their_words_and_keys) {
  take("nightly/backup");
  ASSERT_EQ(
      holdfast({"--store", "sqlite:other.db", "acquire", "other:key", "--owner", "me", "--ttl", "1h"}).code,
      0);
  const std::string name = GetParam();
  if (name == "fish") {
    for (const Line& line : lines) {
      SCOPED_TRACE(line.typed);
      const auto first = [&] {
        const std::string offered = fish(line.typed);
        return offered.substr(0, offered.find_first_of("\t\n"));
      };
      expect_in_time(first, line.last);
    }
    return;
  }
  Process process = shell(name);
  for (const Line& line : lines) {
    SCOPED_TRACE(line.typed);
    expect_in_time([&] { return completed(process, line.typed); },
                   line.before + ("<" + std::string(line.last) + ">"));
  }
}

TEST_P(EachShell, completes_files_in_the_home_folder) {
  const std::string name = GetParam(), line = "holdfast fence ~/secr";
  if (name == "fish") {
    std::ofstream(path("two words"));
    expect_in_time([&] { return fish(line); }, "~/secret-url\n");
    expect_in_time([&] { return fish("holdfast fence ~/two\\ w"); }, "~/two words\n");
    EXPECT_EQ(fish("holdfast --store @~/secr"), "") << "no shell expands it there";
  } else {
    Process process = shell(name);
    expect_in_time([&] { return completed(process, line); }, "<fence><" + path("secret-url") + ">");
  }
}

// Whoever may take a lease may call it as he likes.
TEST_P(EachShell, offers_no_key_that_a_shell_could_take_for_a_command) {
  for (const char* const key :
       {"$(touch${IFS}owned)", "`touch owned`", "a;touch owned", "-rf", "a b", "q\"uote", "harmless"})
    ASSERT_EQ(holdfast({"acquire", "--owner", "me", "--ttl", "1h", "--", key}).code, 0) << key;
  const std::string name = GetParam();
  if (name == "fish") {
    expect_in_time([&] { return fish("holdfast show "); }, "harmless\n");
  } else {
    Process process = shell(name);
    expect_in_time([&] { return completed(process, "holdfast show "); }, "<show><harmless>");
  }
  EXPECT_FALSE(exists("owned"));
}

TEST_P(EachShell, makes_no_store_by_completing) {
  const std::string name = GetParam();
  if (name == "fish") {
    EXPECT_EQ(fish("holdfast show x"), "");
  } else {
    Process process = shell(name);
    EXPECT_EQ(completed(process, "holdfast show x"), "<show><x>");
    EXPECT_EQ(completed(process, "holdfast --store sqlite:new.db show x"),
              "<--store><sqlite:new.db><show><x>");
  }
  EXPECT_FALSE(exists(".local/state/holdfast"));
  EXPECT_FALSE(exists("new.db"));
}

TEST_P(EachShell, does_not_wait_for_a_store_that_does_not_answer) {
  call_before_holdfast("[ \"$1\" != __complete ] || exec sleep 1000");
  const std::string name = GetParam();
  if (name == "fish") {
    EXPECT_EQ(fish("holdfast show x"), "");
  } else {
    Process process = shell(name);
    EXPECT_EQ(completed(process, "holdfast show x"), "<show><x>");
  }
}

// Everybody can read the arguments of a process.
TEST_P(EachShell, does_not_show_a_password_that_stands_on_the_line) {
  call_before_holdfast("[ \"$1\" != __complete ] || echo \"$@\" >>called");
  const std::string name = GetParam(), line = "holdfast --store redis://:canary@localhost:1 show x";
  if (name == "fish") {
    EXPECT_EQ(fish(line), "");
  } else {
    Process process = shell(name);
    EXPECT_EQ(completed(process, line), "<--store><redis://:canary@localhost:1><show><x>");
  }
  EXPECT_THAT(text_of("called"), MatchesRegex("(__complete\n)+"));
}

TEST_P(EachShell, asks_no_store_whose_name_the_shell_would_change_first) {
  ASSERT_EQ(holdfast({"--store", "sqlite:$X.db", "acquire", "k", "--owner", "me", "--ttl", "1h"}).code, 0);
  const std::string name = GetParam();
  if (name == "fish") {
    EXPECT_EQ(fish("holdfast --store sqlite:$X.db show "), "");
  } else {
    Process process = shell(name);
    EXPECT_EQ(completed(process, "holdfast --store sqlite:$X.db show "), "<--store><sqlite:.db><show>");
  }
}

INSTANTIATE_TEST_SUITE_P(Real, EachShell, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& test) { return std::string(test.param); });

// ---- man

class Manual : public Shells {
 protected:
  std::string output_of(const std::string& script) const {
    Process process(plan({"bash", "-o", "pipefail", "-c", script + " 2>&1"}));
    process.wait();
    return process.out();
  }
};

// A page is of a version, not of a day: a date would be that of the build.
TEST_F(Manual, no_page_is_complained_about) {
  const std::string pages = output_of("holdfast help --man");
  int checked = 0;
  for (std::size_t at = 0; (at = pages.find("\\fBholdfast\\-", at)) != std::string::npos; ++at) {
    std::string name = pages.substr(at + 13, pages.find("\\fR(1)", at) - at - 13);
    for (std::size_t dash; (dash = name.find("\\-")) != std::string::npos;) name.replace(dash, 2, " ");
    SCOPED_TRACE(name);
    EXPECT_EQ(output_of("holdfast help --man " + name + " | groff -man -Tutf8 -ww -z"), "");
    EXPECT_EQ(
        output_of("holdfast help --man " + name + " | mandoc -Tlint -Wwarning | grep -v 'missing date'"), "");
    ++checked;
  }
  EXPECT_GT(checked, 25);
  EXPECT_EQ(output_of("holdfast help --man | groff -man -Tutf8 -ww -z"), "");
}

TEST_F(Manual, a_page_says_what_help_says) {
  const std::string page = output_of("holdfast help --man run | mandoc -Tutf8 | col -bx");
  for (const char* const words :
       {"holdfast-run - Run CMD while holding KEY", "holdfast run [OPTION]... KEY [--] CMD [ARG]...",
        "-w, --wait DURATION", "holdfast run nightly -- ./backup.sh", "holdfast(1)"})
    EXPECT_THAT(page, HasSubstr(words));
}

// ---- version

TEST_F(Shells, verbose_version_tells_stores_and_libraries) {
  const Ended told = holdfast({"--version", "--verbose"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, MatchesRegex("holdfast [0-9.]+\ncompiled by .*\n(.*\n)*"));
  for (const char* const row :
       {"sqlite +SQLite +3\\.[0-9.]+", "postgres +libpq +[0-9.]+", "redis +hiredis +[0-9.]+",
        "redis +OpenSSL +3[0-9.]+", "mongodb +libmongoc +1[0-9.]+", "mariadb +libmariadb +[0-9.]+"})
    EXPECT_THAT(told.out, ::testing::ContainsRegex(std::string("\n") + row + "\n"));
  EXPECT_EQ(holdfast({"version", "--verbose"}).out, told.out);
  const json all = json::parse(holdfast({"version", "--verbose", "--json"}).out);
  EXPECT_EQ(all["libraries"][0]["store"], "sqlite");
  EXPECT_EQ(all["stores"][0]["schemes"], json::parse(R"(["sqlite"])"));
  EXPECT_EQ(all["stores"][0]["transactions"], true);
  EXPECT_THAT(all["version"].get<std::string>(), MatchesRegex("[0-9.]+"));
}

TEST_F(Shells, verbose_version_tells_a_driver_that_is_not_there) {
  std::ofstream(path("libpq.so.5"));  // no library, and found first
  environment_["LD_LIBRARY_PATH"] = path("");
  EXPECT_THAT(holdfast({"version", "--verbose"}).out,
              ::testing::ContainsRegex("\npostgres +libpq +not installed\n"));
  const json all = json::parse(holdfast({"version", "--verbose", "--json"}).out);
  EXPECT_TRUE(all["libraries"][1]["version"].is_null()) << all;
}

}  // namespace
}  // namespace holdfast::test
