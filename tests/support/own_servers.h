// SPDX-License-Identifier: Apache-2.0
// own_servers.h - every store that is a server, with a server of its own: to be stopped, killed and frozen.
#pragma once
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::test {

// Wants a password, if its kind knows them.  No tables are there yet.
class OwnServer {
 public:
  static constexpr const char* password = "hunter2-canary";

  virtual ~OwnServer() = default;
  virtual std::string url(const std::string& with_password = password) const = 0;

  virtual void stop() = 0;
  virtual void kill() = 0;   // -9
  virtual void start() = 0;  // again, with the same data
  virtual void pause() = 0;  // connections stay, nothing is answered
  virtual void resume() = 0;

  void make_tables() const;
};

struct ServerKind {
  std::string name;
  std::function<std::unique_ptr<OwnServer>()> make;
  bool passwords = true;
};
inline void PrintTo(const ServerKind& kind, std::ostream* out) { *out << kind.name; }

// Those whose programs are installed.
std::vector<ServerKind> server_kinds();
// Those of them that require a password.
std::vector<ServerKind> strict_server_kinds();

}  // namespace holdfast::test

// TEST_P(Suite, …) on every store that is a server; with none built there is nothing to test.
#define HOLDFAST_ON_EVERY_SERVER(Suite) HOLDFAST_ON_SERVERS(Suite, ::holdfast::test::server_kinds())
#define HOLDFAST_ON_EVERY_STRICT_SERVER(Suite) \
  HOLDFAST_ON_SERVERS(Suite, ::holdfast::test::strict_server_kinds())
#define HOLDFAST_ON_SERVERS(Suite, kinds)                         \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);           \
  INSTANTIATE_TEST_SUITE_P(On, Suite, ::testing::ValuesIn(kinds), \
                           [](const auto& param_info) { return param_info.param.name; })
