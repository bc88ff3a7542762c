// SPDX-License-Identifier: Apache-2.0
// mongo_address.h - where a MongoDB listens, and how a test talks to it.
#pragma once
#include <string>

namespace holdfast::test {

class MongoAddress {
 public:
  MongoAddress() = default;
  // mongodb://[USER:PASSWORD@]HOST…[/][?OPTIONS]; a database in it is replaced.
  explicit MongoAddress(std::string url) : whole_(std::move(url)) {}

  const std::string& whole() const noexcept { return whole_; }
  // The same with this database.
  std::string url(const std::string& database = "app") const;

  // A command as MongoDB has them, in extended JSON: command("app", R"({"ping": 1})"); so is its answer.
  // Throws std::runtime_error with the server's message.
  std::string command(const std::string& database, const std::string& json) const;

 protected:
  std::string whole_{};
};

}  // namespace holdfast::test
