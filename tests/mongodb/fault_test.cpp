// SPDX-License-Identifier: Apache-2.0
// What errors mean, on answers shaped as a server gives them: a standalone without users gives few of them.
#include "stores/mongodb/fault.h"

#include <gtest/gtest.h>

#include <cstring>

namespace holdfast::mongodb {
namespace {

StoreConfig config() {
  return {.options = {.uri = {}, .collection = "locks"},
          .uri = nullptr,
          .database = "app",
          .place = "db:27017",
          .secrets = {"s3cr3t"},
          .client = "0123456789abcdef"};
}

bson_error_t error_of(std::uint32_t domain, std::uint32_t code, const char* text) {
  bson_error_t error{};
  bson_set_error(&error, domain, code, "%s", text);
  return error;
}

Error server_says(std::uint32_t code, Effect effect = Effect::writes) {
  return to_error(error_of(MONGOC_ERROR_SERVER, code, "words"), effect, true, config());
}

class FaultOfMongo : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(load_mongoc()); }
};

TEST_F(FaultOfMongo, written_but_not_by_a_majority_is_in_doubt_although_it_says_ok) {
  for (const char* reply :
       {R"({"value": {"_id": "k"}, "ok": 1, "writeConcernError":
            {"code": 64, "codeName": "WriteConcernFailed", "errmsg": "waiting for replication timed out"}})",
        R"({"n": 2, "nModified": 2, "ok": 1, "writeConcernError":
            {"code": 91, "codeName": "ShutdownInProgress", "errmsg": "shutting down"}})",
        R"({"n": 1, "ok": 1, "writeConcernError": {"code": 10107, "errmsg": "not primary"}})",
        R"({"n": 1, "ok": 1, "writeConcernError": {"code": 4711, "errmsg": "unheard of"}})"}) {
    const Document document = Document::from_json(reply);
    const auto error = write_concern_error(View(document), config());
    ASSERT_TRUE(error) << reply;
    EXPECT_EQ(error->code, Errc::in_doubt) << reply;
    EXPECT_NE(error->detail.find("db:27017"), std::string::npos);
  }
  const Document good = Document::from_json(R"({"value": null, "ok": 1})");
  EXPECT_FALSE(write_concern_error(View(good), config()));
}

TEST_F(FaultOfMongo, what_the_server_says_before_it_begins_has_not_happened) {
  for (const std::uint32_t code : {10107u, 13435u, 10058u, 24u, 112u, 11000u, 14031u})
    EXPECT_EQ(server_says(code).code, Errc::unavailable) << code;
  for (const std::uint32_t code : {13u, 18u, 8000u, 59u, 121u, 166u, 73u, 10334u})
    EXPECT_EQ(server_says(code).code, Errc::refused) << code;
  for (const std::uint32_t code : {14u, 241u, 16554u, 16702u, 28651u, 28664u, 51003u}) {
    EXPECT_EQ(server_says(code).code, Errc::refused) << code;
    EXPECT_TRUE(is_about_document(code)) << code;
  }
}

TEST_F(FaultOfMongo, what_it_may_say_afterwards_is_in_doubt_and_so_is_what_we_do_not_know) {
  for (const std::uint32_t code : {50u, 262u, 189u, 91u, 11600u, 11602u, 64u, 79u, 100u, 4711u}) {
    EXPECT_EQ(server_says(code).code, Errc::in_doubt) << code;
    EXPECT_EQ(server_says(code, Effect::reads).code, Errc::unavailable) << code;
  }
}

TEST_F(FaultOfMongo, a_connection_that_breaks_is_in_doubt_once_something_was_sent) {
  const bson_error_t cut = error_of(MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, "reset");
  EXPECT_EQ(to_error(cut, Effect::writes, true, config()).code, Errc::in_doubt);
  EXPECT_EQ(to_error(cut, Effect::writes, false, config()).code, Errc::unavailable);
  EXPECT_EQ(to_error(cut, Effect::reads, true, config()).code, Errc::unavailable);
  const bson_error_t nobody =
      error_of(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, "no suitable servers");
  EXPECT_EQ(to_error(nobody, Effect::writes, true, config()).code, Errc::unavailable);
  const bson_error_t stranger =
      error_of(MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, "s3cr3t is wrong");
  EXPECT_EQ(to_error(stranger, Effect::writes, true, config()).code, Errc::refused);
}

// The driver reports every error during the login as a failed login.
TEST_F(FaultOfMongo, a_log_in_that_the_server_did_not_answer_may_be_tried_again) {
  for (const char* words :
       {"Failed to send \"saslStart\" command with database \"admin\": socket error or timeout",
        "Failed to read 4 bytes: socket error or timeout"}) {
    const bson_error_t cut = error_of(MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, words);
    EXPECT_EQ(to_error(cut, Effect::writes, true, config()).code, Errc::unavailable) << words;
  }
  const bson_error_t no =
      error_of(MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, "Authentication failed.");
  EXPECT_EQ(to_error(no, Effect::writes, true, config()).code, Errc::refused);
}

TEST_F(FaultOfMongo, a_certificate_that_is_not_good_does_not_pass_by_itself) {
  for (const char* words : {"certificate verify failed (62): hostname mismatch",
                            "Failed certificate verification", "Failed OCSP verification"}) {
    const std::string all = "No suitable servers found: [TLS handshake failed: " + std::string(words) + "]";
    const bson_error_t bad =
        error_of(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, all.c_str());
    EXPECT_EQ(to_error(bad, Effect::writes, true, config()).code, Errc::refused) << words;
  }
}

TEST_F(FaultOfMongo, a_server_that_is_not_there_is_named_with_the_reason_alone) {
  const auto said = [](const char* words) {
    const bson_error_t gone =
        error_of(MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, words);
    return to_error(gone, Effect::writes, false, config()).detail;
  };
  const std::string begin = "cannot connect to mongodb://db:27017/app?collection=locks: ";
  EXPECT_EQ(said("No suitable servers found (`serverSelectionTryOnce` set): [Connection refused]"),
            begin + "Connection refused");
  EXPECT_EQ(said("No suitable servers found (`serverSelectionTryOnce` set): [a:1: no] [b:2: never]"),
            begin + "a:1: no; b:2: never");
  EXPECT_EQ(said("No servers yet eligible for rescan"), begin + "No servers yet eligible for rescan");
}

TEST_F(FaultOfMongo, no_words_repeat_a_password) {
  for (const std::uint32_t domain : {MONGOC_ERROR_SERVER, MONGOC_ERROR_STREAM, MONGOC_ERROR_CLIENT}) {
    const Error error = to_error(error_of(domain, 4711, "mongodb://ann:s3cr3t@db says s3cr3t"),
                                 Effect::writes, true, config());
    EXPECT_EQ(error.detail.find("s3cr3t"), std::string::npos) << error.detail;
  }
}

// Cut first, a half of it would be left.
TEST_F(FaultOfMongo, nor_do_long_words_repeat_a_part_of_it) {
  const std::string words(297, 'x');
  const Error error = to_error(error_of(MONGOC_ERROR_STREAM, 4711, (words + "s3cr3t").c_str()),
                               Effect::writes, true, config());
  EXPECT_EQ(error.detail.find("s3c"), std::string::npos) << error.detail;
}

}  // namespace
}  // namespace holdfast::mongodb
