// SPDX-License-Identifier: Apache-2.0
// What a fence is for, on everything there is a checker for: a file by the command, databases by the code
// that `holdfast fence --code` prints, installed and called by their own clients, as people do.
#include "base/random.h"
#include "tests/cli/home.h"
#include "tests/support/servers/redis_server.h"
#include "tests/support/servers/shared.h"

namespace holdfast::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// A document with a text in it, and how one gets at it: scripts for sh, in which TOKEN and TEXT are replaced.
struct Document {
  std::string install;
  std::string session{};  // the client, reading statements; empty: it has no transactions
  std::string begin{}, claim{}, write{}, read{}, commit{}, rollback{};
  std::string waiting{};  // how many transactions wait for another; empty: nobody can tell
  // Those that have no transactions: both steps in one.
  std::string fenced_write{}, fenced_read{}, plain_write{}, plain_read{};
};

std::string replaced(std::string script, const std::string& token, const std::string& text) {
  const auto all = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = script.find(what); at != std::string::npos; at = script.find(what, at + by.size()))
      script.replace(at, what.size(), by);
  };
  all("TOKEN", token);
  all("TEXT", text);
  return script;
}

Document in_a_file() {
  return {.install = "echo empty > doc",
          .fenced_write = "holdfast fence doc TOKEN -- sh -c 'echo TEXT > doc'",
          .fenced_read = "holdfast fence doc TOKEN -- cat doc",
          .plain_write = "echo TEXT > doc",
          .plain_read = "cat doc"};
}

Document in_redis(const std::string& url) {
  const std::string client = "redis-cli -e -u " + url;
  const std::string eval = client + " EVAL \"$(holdfast fence --code redis)\"";
  return {.install = client + " SET doc empty",
          .fenced_write = eval + " 2 mark doc TOKEN SET doc 'TEXT'",
          .fenced_read = eval + " 2 mark doc TOKEN GET doc",
          .plain_write = client + " SET doc 'TEXT'",
          .plain_read = client + " GET doc"};
}

constexpr const char* make_table =
    "CREATE TABLE doc (text VARCHAR(200)); INSERT INTO doc VALUES ('empty');\n";
constexpr const char* write_row = "UPDATE doc SET text = 'TEXT';\n";
constexpr const char* read_row = "SELECT text FROM doc;\n";

Document in_sql(const std::string& where, const std::string& session, const std::string& begin,
                const std::string& claim) {
  return {.install = "(holdfast fence --code " + where + "; echo \"" + make_table + "\") | " + session,
          .session = session,
          .begin = begin,
          .claim = claim,
          .write = write_row,
          .read = read_row,
          .commit = "COMMIT;\n",
          .rollback = "ROLLBACK;\n"};
}

class Fenced : public ::testing::TestWithParam<std::string>, protected Household {
 protected:
  Fenced() {
    environment_["PATH"] =
        std::filesystem::path(HOLDFAST_BINARY).parent_path().string() + ":" + environment_["PATH"];
    doc_ = make();
    EXPECT_EQ(sh(doc_.install).code, 0);
  }
  ~Fenced() override {
    try {
      if (GetParam() == "postgres") shared_postgres().execute("DROP SCHEMA " + name_ + " CASCADE");
      if (maria_) maria_->query("DROP DATABASE " + name_);
    } catch (const std::exception&) {
      // It goes with the server.
    }
  }

  Ended sh(const std::string& script) const {
    Process process(plan({"sh", "-c", script}));
    const int code = process.wait();
    EXPECT_NE(code, -1) << script;
    return {code, process.out(), process.err()};
  }
  Ended sql(const std::string& statements) const {
    return sh(doc_.session + " <<'END'\n" + statements + "END\n");
  }
  bool has_transactions() const { return !doc_.session.empty(); }

  // Each as its holder does it: in one step with the claim.  An older one gets an error, and only then.
  bool write(const std::string& token, const std::string& text) const {
    return admitted(has_transactions()
                        ? sql(replaced(doc_.begin + doc_.claim + doc_.write + doc_.commit, token, text))
                        : sh(replaced(doc_.fenced_write, token, text)));
  }
  std::string read(const std::string& token) const {
    const Ended ended = has_transactions()
                            ? sql(replaced(doc_.begin + doc_.claim + doc_.read + doc_.commit, token, ""))
                            : sh(replaced(doc_.fenced_read, token, ""));
    return admitted(ended) ? last_line(ended.out) : "refused";
  }
  static bool admitted(const Ended& ended) {
    if (ended.code != 0) {
      EXPECT_THAT(ended.out + ended.err, HasSubstr("too old"));
    }
    return ended.code == 0;
  }

  // Those who know nothing of a fence.
  void plain_write(const std::string& text) const {
    const Ended ended =
        has_transactions() ? sql(replaced(doc_.write, "", text)) : sh(replaced(doc_.plain_write, "", text));
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  std::string plain_read() const {
    return last_line((has_transactions() ? sql(doc_.read) : sh(doc_.plain_read)).out);
  }

  // A client with an open transaction, in which the claim was let in.
  Process open_transaction(const std::string& token) const {
    Process::Plan session = plan({"sh", "-c", doc_.session});
    session.keep_input = true;
    Process process(session);
    process.type(replaced(doc_.begin + doc_.claim + "SELECT 'inside';\n", token, ""));
    EXPECT_TRUE(process.await_out("inside\n")) << process.err();
    return process;
  }

  static std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  Document doc_;

 private:
  Document make() {
    if (GetParam() == "file") return in_a_file();
    if (GetParam() == "redis") {
      redis_ = std::make_unique<RedisServer>();
      return in_redis(redis_->url());
    }
    if (GetParam() == "sqlite")
      return in_sql("sqlite", "stdbuf -oL sqlite3 -bail -cmd '.timeout 20000' doc.db", "BEGIN IMMEDIATE;\n",
                    "INSERT INTO holdfast_fences (name, token) VALUES ('doc', TOKEN)\n"
                    "  ON CONFLICT (name) DO UPDATE SET token = excluded.token;\n");
    if (GetParam() == "postgres") {
      shared_postgres().execute("CREATE SCHEMA " + name_);
      environment_["PGOPTIONS"] = "-csearch_path=" + name_;
      environment_["PGAPPNAME"] = name_;
      Document doc =
          in_sql("postgres", "psql -XqAt -v ON_ERROR_STOP=1 " + shared_postgres().url(), "BEGIN;\n",
                 "DO $$ BEGIN IF NOT holdfast_fence('doc', TOKEN) THEN RAISE 'TOKEN is too old'; END IF; "
                 "END $$;\n");
      doc.waiting =
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = '" +
          name_ + "';\n";
      return doc;
    }
    maria_ = GetParam() == "mysql" ? &shared_mysql() : &shared_mariadb();
    maria_->query("CREATE DATABASE " + name_);
    Document doc =
        in_sql("mariadb",
               "mariadb --no-defaults --unbuffered --batch --skip-column-names --user=root --socket=" +
                   maria_->socket() + " " + name_,
               "START TRANSACTION;\n", "CALL holdfast_fence('doc', TOKEN);\n");
    // What that table says is renewed when nobody has read it for 0.1 s.
    doc.waiting =
        "SELECT SLEEP(0.2); SELECT count(*) FROM information_schema.innodb_trx t JOIN "
        "information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' "
        "AND "
        "p.db = '" +
        name_ + "';\n";
    return doc;
  }

  const std::string name_ = "f_" + random_hex(16);
  std::unique_ptr<RedisServer> redis_;
  const MariaAddress* maria_ = nullptr;
};

TEST_P(Fenced, an_older_token_is_refused_and_an_equal_one_passes) {
  EXPECT_TRUE(write("9007199254740993", "first"));
  EXPECT_FALSE(write("9007199254740992", "older"));  // as doubles they would be equal
  EXPECT_EQ(plain_read(), "first");
  EXPECT_TRUE(write("9007199254740993", "again"));
  EXPECT_TRUE(write("9223372036854775807", "the largest there is"));
  EXPECT_FALSE(write("999", "older"));  // as texts it would be larger
  EXPECT_EQ(plain_read(), "the largest there is");
}

TEST_P(Fenced, a_claim_that_only_reads_raises_the_mark) {
  EXPECT_EQ(read("6"), "empty");
  EXPECT_FALSE(write("5", "older"));
  EXPECT_EQ(read("5"), "refused");
  EXPECT_EQ(read("6"), "empty");
}

TEST_P(Fenced, what_is_no_token_claims_nothing) {
  for (const std::string token : {"0", "-1", "NULL"}) {
    const Ended ended =
        has_transactions()
            ? sql(replaced(doc_.begin + doc_.claim + doc_.write + doc_.commit, token, "nonsense"))
            : sh(replaced(doc_.fenced_write, token, "nonsense"));
    EXPECT_NE(ended.code, 0) << token;
  }
  EXPECT_EQ(plain_read(), "empty");
  EXPECT_TRUE(write("1", "the smallest there is"));
}

TEST_P(Fenced, of_many_claims_at_once_the_largest_stays) {
  std::vector<Process> all;
  for (int i = 0; i < 8; ++i) {
    const std::string token = std::to_string(10 + i * 3 % 8);  // in no order
    std::string script = replaced(doc_.fenced_write, token, "by-" + token);
    if (has_transactions())
      script = doc_.session + " <<'END'\n" +
               replaced(doc_.begin + doc_.claim + doc_.write + doc_.commit, token, "by-" + token) + "END\n";
    all.push_back(Process(plan({"sh", "-c", script})));
  }
  for (Process& process : all) {
    const int code = process.wait();
    // MariaDB may find that two first claims are in each other's way: try again, as after any deadlock.
    if (code != 0) {
      EXPECT_THAT(process.out() + process.err(), AnyOf(HasSubstr("too old"), HasSubstr("Deadlock")));
    }
  }
  EXPECT_TRUE(write("17", plain_read() + " and 17 again"));
  EXPECT_EQ(plain_read(), "by-17 and 17 again");
  EXPECT_FALSE(write("16", "older"));
}

// The story of the guide, with real leases: ann is paused between looking and writing.
TEST_P(Fenced, without_it_a_paused_holder_destroys_what_the_next_one_wrote_and_with_it_cannot) {
  const auto acquire = [this](const Words& more) {
    Words words{"acquire", "doc"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string out = holdfast(words).out;
    return last_line(out.substr(out.find("token") + 5)).erase(0, 2);
  };
  const std::string ann = acquire({"--owner", "ann", "--ttl", "1s"});
  const std::string bob = acquire({"--owner", "bob", "-w", "30s"});
  plain_write("by-bob");
  plain_write("by-ann");
  EXPECT_EQ(plain_read(), "by-ann");  // bob's work is gone

  EXPECT_TRUE(write(bob, "by-bob"));
  EXPECT_FALSE(write(ann, "by-ann"));
  EXPECT_EQ(plain_read(), "by-bob");
}

// Bob's token is 6, ann's 5.  The planted mistake: bob's first contact carries no token.
TEST_P(Fenced, who_reads_before_the_claim_overwrites_what_it_has_not_seen) {
  const std::string seen = plain_read();
  EXPECT_TRUE(write("5", "by-ann"));
  EXPECT_TRUE(write("6", seen + ",by-bob"));
  EXPECT_EQ(plain_read(), "empty,by-bob");  // ann was let in, and her work is gone all the same
}

TEST_P(Fenced, who_claims_before_it_reads_loses_nothing) {
  EXPECT_TRUE(write("5", "by-ann"));
  const std::string seen = read("6");
  EXPECT_FALSE(write("5", "by-ann-again"));  // she is told
  EXPECT_TRUE(write("6", seen + ",by-bob"));
  EXPECT_EQ(plain_read(), "by-ann,by-bob");
}

// Files and Redis have none: there claim and write are one step.
class FencedInTransactions : public Fenced {};

TEST_P(FencedInTransactions, a_younger_claim_waits_for_the_end_of_the_transaction_and_sees_what_it_wrote) {
  Process older = open_transaction("5");
  Process::Plan younger_plan = plan({"sh", "-c", doc_.session});
  younger_plan.keep_input = true;
  Process younger(younger_plan);
  younger.type("SELECT 'here';\n");
  ASSERT_TRUE(younger.await_out("here\n")) << younger.err();
  younger.type(replaced(doc_.begin + doc_.claim + doc_.read + doc_.commit, "6", ""));
  younger.end_input();
  ASSERT_TRUE(await([&] { return doc_.waiting.empty() || last_line(sql(doc_.waiting).out) == "1"; }))
      << younger.out() << younger.err();
  EXPECT_EQ(last_line(younger.out()), "here");
  older.type(replaced(doc_.write + doc_.commit, "5", "by-ann"));
  older.end_input();
  EXPECT_EQ(older.wait(), 0) << older.err();
  EXPECT_EQ(younger.wait(), 0) << younger.err();
  EXPECT_EQ(last_line(younger.out()), "by-ann");
  EXPECT_FALSE(write("5", "older"));
}

TEST_P(FencedInTransactions, a_transaction_that_is_rolled_back_leaves_the_mark_as_it_was) {
  EXPECT_EQ(read("5"), "empty");
  Process younger = open_transaction("6");
  younger.type(replaced(doc_.write + doc_.rollback, "6", "by-bob"));
  younger.end_input();
  EXPECT_EQ(younger.wait(), 0) << younger.err();
  EXPECT_TRUE(write("5", "by-ann"));  // bob read and wrote nothing that counts
  EXPECT_EQ(read("6"), "by-ann");
}

TEST_P(FencedInTransactions, installing_it_again_keeps_the_marks) {
  EXPECT_TRUE(write("6", "by-bob"));
  EXPECT_EQ(
      sh("holdfast fence --code " + (GetParam() == "mysql" ? "mariadb" : GetParam()) + " | " + doc_.session)
          .code,
      0);
  EXPECT_FALSE(write("5", "by-ann"));
}

std::vector<std::string> resources() {
  std::vector<std::string> all{"file", "sqlite", "postgres", "mariadb", "redis"};
  if (mysql_missing().empty()) all.emplace_back("mysql");
  return all;
}
std::vector<std::string> with_transactions() {
  std::vector<std::string> all = resources();
  std::erase_if(all, [](const std::string& resource) { return resource == "file" || resource == "redis"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(On, Fenced, ::testing::ValuesIn(resources()),
                         [](const auto& param_info) { return param_info.param; });
INSTANTIATE_TEST_SUITE_P(On, FencedInTransactions, ::testing::ValuesIn(with_transactions()),
                         [](const auto& param_info) { return param_info.param; });

// Called with another search_path, and by a name that somebody put in the way.
TEST_F(Home, fence_of_postgres_finds_its_own_table_whatever_the_search_path) {
  const std::string schema = "f_" + random_hex(16);
  Process::Plan psql = plan({"sh", "-c", "psql -XqAt -v ON_ERROR_STOP=1 " + shared_postgres().url()});
  psql.keep_input = true;
  Process process(psql);
  process.type("CREATE SCHEMA " + schema + "; SET search_path = " + schema + ";\n" +
               holdfast({"fence", "--code", "postgres"}).out + "SET search_path = pg_temp, public;\n" +
               "CREATE TEMP TABLE holdfast_fences (name text PRIMARY KEY, token bigint);\n" + "SELECT " +
               schema + ".holdfast_fence('doc', 6), " + schema + ".holdfast_fence('doc', 5);\n" +
               "SELECT count(*) FROM pg_temp.holdfast_fences; SELECT name, token FROM " + schema +
               ".holdfast_fences; DROP SCHEMA " + schema + " CASCADE;\n");
  process.end_input();
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_EQ(process.out(), "t|f\n0\ndoc|6\n");
}

}  // namespace
}  // namespace holdfast::test
