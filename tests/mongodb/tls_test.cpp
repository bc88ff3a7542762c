// SPDX-License-Identifier: Apache-2.0
// TLS: the right server is spoken to, and no other.  The engine of the tests cannot speak it: a proxy in
// front of it does.
#include <fstream>
#include <future>
#include <iterator>

#include "tests/mongodb/fake_member.h"
#include "tests/mongodb/suite.h"
#include "tests/support/servers/certificates.h"
#include "tests/support/servers/tls_proxy.h"

namespace holdfast::test {
namespace {

int port_of(const FakeMember& member) { return std::stoi(member.port()); }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TlsOfMongo : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& why : {mongodb_missing(), openssl_missing()})
      if (!why.empty()) GTEST_SKIP() << why;
  }
  static std::string url(int port, const std::string& parameters = "") {
    return "mongodb://localhost:" + std::to_string(port) + "/app?tls=true" + parameters;
  }
  std::string trusting(int port) const { return url(port, "&tlsCAFile=" + certificates_.authority()); }

  // The result of connecting to a server with that certificate; nothing must be sent to it.
  Error refusal(const Certificate& shown, const std::string& parameters) {
    const FakeMember member([](const std::string&) { return std::nullopt; });
    const TlsProxy proxy(port_of(member), shown);
    std::string with_password = url(proxy.port(), parameters);
    with_password.insert(with_password.find("localhost"), "ann:s3cr3t@");
    const Status status = try_connect(with_password);
    EXPECT_EQ(member.heard(), "");
    EXPECT_FALSE(status) << with_password;
    return status ? Error{Errc::invalid, "connected"} : status.error();
  }
  Error refusal(const Certificate& shown) {
    return refusal(shown, "&tlsCAFile=" + certificates_.authority());
  }

  const Status loaded_ = mongodb::load_mongoc();
  const Certificates certificates_;
};

TEST_F(TlsOfMongo, the_right_authority_and_the_right_name_are_accepted) {
  const MongoServer server;
  const TlsProxy proxy(server.port(), certificates_.right());
  Caller caller(trusting(proxy.port()));
  const Reply mine = caller.acquire("k", "ann");
  EXPECT_EQ(mine.verdict, Verdict::granted);
  EXPECT_EQ(caller.renew("k", "ann", mine.token).verdict, Verdict::granted);
  std::string by_number = trusting(proxy.port());
  by_number.replace(by_number.find("localhost"), 9, "127.0.0.1");
  EXPECT_EQ(Caller(by_number).acquire("k", "bob").verdict, Verdict::busy);
  EXPECT_EQ(caller.release("k", "ann", mine.token).verdict, Verdict::released);
}

TEST_F(TlsOfMongo, a_large_batch_and_a_long_answer_pass) {
  const MongoServer server;
  const TlsProxy proxy(server.port(), certificates_.right());
  Caller caller(trusting(proxy.port()));
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back(std::string(400, 'k') + std::to_string(i));
  std::vector<Request> requests;
  for (const std::string& key : keys)
    requests.push_back({.verb = Verb::acquire, .key = {key}, .owner = {"ann"}, .ttl = 1h});
  for (const Reply& reply : caller.ask_all(requests)) EXPECT_EQ(reply.verdict, Verdict::granted);
  EXPECT_EQ(caller.list({}).leases.size(), keys.size());
}

TEST_F(TlsOfMongo, speaking_in_the_clear_to_a_tls_port_fails_and_does_not_hang) {
  const FakeMember member([](const std::string&) { return std::nullopt; });
  const TlsProxy proxy(port_of(member), certificates_.right());
  const Status status = try_connect("mongodb://localhost:" + std::to_string(proxy.port()) + "/app");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
  EXPECT_EQ(member.heard(), "");
}

TEST_F(TlsOfMongo, another_name_is_refused) {
  const Error error = refusal(certificates_.wrong_name());
  EXPECT_EQ(error.code, Errc::refused) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "localhost")) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "mismatch")) << error.detail;
}

TEST_F(TlsOfMongo, another_authority_is_refused_and_so_is_the_systems_where_ours_is_not_known) {
  const Certificates others;
  const Error error = refusal(certificates_.right(), "&tlsCAFile=" + others.authority());
  EXPECT_EQ(error.code, Errc::refused) << error.detail;
  EXPECT_TRUE(mentions(error.detail, "tlsCAFile=")) << error.detail;
  EXPECT_EQ(refusal(certificates_.right(), "").code, Errc::refused);
}

TEST_F(TlsOfMongo, expired_and_self_signed_certificates_are_refused) {
  const Error expired = refusal(certificates_.expired());
  EXPECT_EQ(expired.code, Errc::refused) << expired.detail;
  EXPECT_TRUE(mentions(expired.detail, "expired")) << expired.detail;
  EXPECT_EQ(refusal(certificates_.self_signed()).code, Errc::refused);
}

TEST_F(TlsOfMongo, a_server_without_tls_is_refused_and_not_spoken_to_in_the_clear) {
  const FakeMember member([](const std::string&) { return std::nullopt; });
  std::string to_member = trusting(port_of(member));
  to_member.insert(to_member.find("localhost"), "ann:s3cr3t@");
  EXPECT_FALSE(try_connect(to_member, BootClock::now() + 500ms));
  EXPECT_EQ(member.heard().substr(0, 2), "\x16\x03") << "all that it hears is a TLS handshake";
  for (const char* word : {"hello", "isMaster", "ann", "s3cr3t"})
    EXPECT_FALSE(mentions(member.heard(), word)) << word;

  const MongoServer server;
  const Status status = try_connect(trusting(server.port()), BootClock::now() + 2s);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
  EXPECT_TRUE(mentions(status.error().detail, "speak TLS")) << status.error().detail;
}

TEST_F(TlsOfMongo, each_lax_option_lifts_its_own_check_only) {
  const std::string lax = "&accept=mongodb.tls&tlsCAFile=" + certificates_.authority();
  const std::string no_name = lax + "&tlsAllowInvalidHostnames=true";
  EXPECT_EQ(refusal(certificates_.self_signed(), no_name).code, Errc::refused);
  EXPECT_EQ(refusal(certificates_.wrong_name(), lax).code, Errc::refused);
  const MongoServer server;
  const TlsProxy another_name(server.port(), certificates_.wrong_name());
  EXPECT_TRUE(try_connect(url(another_name.port(), no_name)));
  const TlsProxy nobodys(server.port(), certificates_.self_signed());
  EXPECT_TRUE(try_connect(url(nobodys.port(), lax + "&tlsAllowInvalidCertificates=true")));
}

TEST_F(TlsOfMongo, a_server_that_wants_a_certificate_gets_ours) {
  const MongoServer server;
  const TlsProxy proxy(server.port(), certificates_.right(), certificates_.authority());
  EXPECT_FALSE(try_connect(trusting(proxy.port())));
  const Certificate mine = certificates_.client("ann");
  const Scratch folder;
  const std::string both = folder.path() + "/ann.pem";
  write_file(both, text_of(mine.certificate) + text_of(mine.key));
  const Status status = try_connect(trusting(proxy.port()) + "&tlsCertificateKeyFile=" + both);
  EXPECT_TRUE(status) << status.error().detail;
}

TEST_F(TlsOfMongo, a_file_that_is_not_there_is_refused) {
  EXPECT_EQ(refusal(certificates_.right(), "&tlsCAFile=/no/such.crt").code, Errc::refused);
  EXPECT_EQ(refusal(certificates_.right(), "&tlsCertificateKeyFile=/no/mine.pem").code, Errc::refused);
}

TEST_F(TlsOfMongo, a_frozen_server_ends_the_handshake_in_time) {
  const FakeMember member([](const std::string&) { return std::nullopt; });
  TlsProxy proxy(port_of(member), certificates_.right());
  proxy.pause();
  const Status status = try_connect(trusting(proxy.port()), BootClock::now() + 100ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::unavailable) << status.error().detail;
}

// A seed whose certificate is right, and the primary that it names, with a certificate of its own.
class TlsOfMongoSet : public TlsOfMongo {
 protected:
  struct Places {
    std::string seed, primary;
  };
  Status connect_by_seed(const Certificate& of_primary) {
    const TlsProxy to_seed(port_of(seed_), certificates_.right()), to_primary(port_of(primary_), of_primary);
    places_.set_value(
        {"localhost:" + std::to_string(to_seed.port()), "localhost:" + std::to_string(to_primary.port())});
    return try_connect(trusting(to_seed.port()) + "&replicaSet=rs0");
  }
  std::string probe_of(std::string Places::*me) const {
    const Places& all = known_.get();
    return hello_of_set(all.*me, all.primary, {all.seed, all.primary});
  }

  std::promise<Places> places_;  // as the proxies have them, which are made after the members
  const std::shared_future<Places> known_{places_.get_future()};
  const FakeMember primary_{[this](const std::string&) { return probe_of(&Places::primary); }};
  const FakeMember seed_{[this](const std::string&) { return probe_of(&Places::seed); }};
};

TEST_F(TlsOfMongoSet, a_member_that_a_seed_names_is_followed_if_it_proves_its_name) {
  const Status status = connect_by_seed(certificates_.right());
  EXPECT_TRUE(status) << status.error().detail;
  EXPECT_NE(primary_.heard(), "");
}

TEST_F(TlsOfMongoSet, nothing_is_sent_to_a_member_whose_certificate_has_another_name) {
  const Status status = connect_by_seed(certificates_.wrong_name());
  ASSERT_FALSE(status);
  EXPECT_EQ(primary_.heard(), "");
  EXPECT_NE(seed_.heard(), "");
  EXPECT_EQ(status.error().code, Errc::refused) << status.error().detail;
  EXPECT_TRUE(mentions(status.error().detail, known_.get().primary + ": ")) << status.error().detail;
}

}  // namespace
}  // namespace holdfast::test
