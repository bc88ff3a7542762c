// SPDX-License-Identifier: Apache-2.0
// What a URL may contain, and what is never printed.
#include "holdfast/mongodb.h"
#include "tests/mongodb/suite.h"

namespace holdfast::test {
namespace {

Error refused(const std::string& url) {
  const auto store = try_store(url);
  return store ? Error{Errc::in_doubt, "it was taken"} : store.error();
}

TEST(UrlOfMongo, names_the_store_without_its_password) {
  const auto store = try_store("mongodb://ann:s3cr3t@localhost:1234/app?collection=jobs").value();
  EXPECT_EQ(store->name(), "mongodb://localhost:1234/app?collection=jobs");
  EXPECT_EQ(store->client().size(), 16u);
}

TEST(UrlOfMongo, hosts_options_and_layout_are_read) {
  const auto store =
      try_store("mongodb://127.0.0.1:1,localhost:2/app?replicaSet=rs0&layout=mongo-lock&w=majority").value();
  EXPECT_EQ(store->name(), "mongodb://127.0.0.1:1,localhost:2/app?collection=locks&layout=mongo-lock");
}

TEST(UrlOfMongo, what_means_nothing_is_refused) {
  for (const char* url :
       {"mongodb://localhost", "mongodb://localhost/", "mongodb://localhost/app?layout=ruby",
        "mongodb://localhost/app?unsafe=yes", "mongodb://localhost/app?colection=jobs",
        "mongodb://localhost/app?table=jobs", "mongodb://localhost/app?replicaSett=rs0",
        "mongodb://localhost/app?collection=", "mongodb://localhost/app?collection=system.users",
        "mongodb://localhost/app?collection=a$b", "mongodb://localhost/app?collection=locks.holdfast",
        "mongodb://localhost/app?collections=other", "mongodb://localhost:99999/app", "mongodb:///app"})
    EXPECT_EQ(refused(url).code, Errc::invalid) << url << ": " << refused(url).detail;
}

TEST(UrlOfMongo, what_means_something_to_the_driver_is_taken) {
  for (const char* option :
       {"replicaSet=rs0", "REPLICASET=rs0", "authSource=admin", "authMechanism=SCRAM-SHA-256",
        "authMechanismProperties=SERVICE_NAME:x", "compressors=zlib", "readConcernLevel=majority", "w=2",
        "readPreference=secondary&readPreferenceTags=dc:ny", "appName=jobs", "connectTimeoutMS=5",
        "wTimeoutMS=5", "journal=true", "directConnection=true", "tls=false", "ssl=false"}) {
    const Error error = refused(std::string("mongodb://ann:s3cr3t@localhost/app?") + option);
    EXPECT_EQ(error.code, Errc::in_doubt) << option << ": " << error.detail;
  }
}

TEST(UrlOfMongo, no_error_repeats_a_password) {
  for (const char* url :
       {"mongodb://ann:s3cr3t@localhost", "mongodb://ann:s3cr3t/x@localhost/app", "mongodb://ann:s3cr3t@/app",
        "mongodb://ann:s3cr3t@localhost:port/app", "mongodb://ann:s3cr3t@db.example/app",
        "mongodb://ann:s3cr3t@localhost/app?layout=x", "mongodb://ann:%s3cr3t@localhost/app"}) {
    const Error error = refused(url);
    EXPECT_NE(error.code, Errc::in_doubt) << url;
    EXPECT_FALSE(mentions(error.detail, "s3cr3t")) << error.detail;
  }
}

TEST(UrlOfMongo, another_machine_needs_a_word_about_tls) {
  EXPECT_EQ(refused("mongodb://db.example/app").code, Errc::refused);
  EXPECT_EQ(refused("mongodb://localhost,db.example/app").code, Errc::refused);
  EXPECT_TRUE(try_store("mongodb://db.example/app?tls=true"));
  EXPECT_TRUE(try_store("mongodb://db.example/app?tls=false"));
  EXPECT_TRUE(try_store("mongodb://db.example/app?unsafe=allow"));
  EXPECT_TRUE(try_store("mongodb://db.example/app?accept=mongodb.tls"));
  EXPECT_EQ(refused("mongodb://db.example/app?accept=mongodb.router").code, Errc::refused);
  EXPECT_TRUE(try_store("mongodb://127.0.0.1,localhost,[::1]/app"));
  EXPECT_TRUE(try_store("mongodb://%2Ftmp%2Fmongodb.sock/app"));
}

TEST(UrlOfMongo, certificates_that_prove_nothing_are_refused) {
  for (const char* lax : {"tlsInsecure=true", "tlsAllowInvalidCertificates=true",
                          "tlsAllowInvalidHostnames=true", "sslAllowInvalidCertificates=true"}) {
    const std::string url = std::string("mongodb://db.example/app?tls=true&") + lax;
    EXPECT_EQ(refused(url).code, Errc::refused) << lax;
    EXPECT_TRUE(try_store(url + "&unsafe=allow")) << lax;
    EXPECT_TRUE(try_store(url + "&accept=mongodb.tls")) << lax;
    EXPECT_EQ(refused(url + "&accept=mongodb.ttl-index").code, Errc::refused) << lax;
  }
}

TEST(UrlOfMongo, an_unknown_topic_is_refused_with_the_known_ones) {
  const Error error = refused("mongodb://localhost/app?accept=mongodb.ssl");
  EXPECT_EQ(error.code, Errc::invalid);
  EXPECT_TRUE(mentions(error.detail, "accept=mongodb.ssl")) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "mongodb.router, ")) << error.detail;
}

class CollectionsOfMongo : public MongoTest {};

TEST_F(CollectionsOfMongo, are_chosen_by_a_name_of_ours_or_their_own) {
  Caller caller(with(url(), "collections=other:other_locks,third:third_locks"));
  const auto ask = [&](std::string_view table) {
    const auto store = caller.store().in(table).value();
    const auto connection = store->connect(soon()).value();
    const Request request{.verb = Verb::acquire, .key = {"k"}, .owner = {"ann"}, .ttl = 1h};
    Reply reply;
    EXPECT_TRUE(connection->apply({&request, 1}, {&reply, 1}, soon()));
    return store->name();
  };
  caller.acquire("k", "ann");
  EXPECT_TRUE(mentions(ask("other"), "?collection=other_locks"));
  EXPECT_TRUE(mentions(ask("plain"), "?collection=plain"));
  const std::string made = mongo(R"({"listCollections": 1, "nameOnly": true})");
  for (const char* name : {"\"locks\"", "\"other_locks\"", "\"plain\""})
    EXPECT_TRUE(mentions(made, name)) << made;
  EXPECT_FALSE(mentions(made, "third_locks")) << made;
  EXPECT_EQ(caller.store().in("a$b").error().code, Errc::invalid);
}

TEST_F(CollectionsOfMongo, are_given_to_the_library_as_a_map) {
  const auto store = mongodb::store({.uri = url(), .collections = {{"other", "other_locks"}}}).value();
  EXPECT_TRUE(mentions(store->in("other").value()->name(), "?collection=other_locks"));
}

}  // namespace
}  // namespace holdfast::test
