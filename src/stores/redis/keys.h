// SPDX-License-Identifier: Apache-2.0
// keys.h - writes the names of a lease and of what lies beside it.
#pragma once
#include "stores/redis/command.h"
#include "stores/redis/naming.h"

namespace holdfast::redis {

class LeaseNames {
 public:
  LeaseNames(const Naming& naming, std::string_view key)
      : prefix_(naming.prefix()), key_(key), whole_(prefix_.empty() ? std::string() : naming.prefix()) {
    if (!prefix_.empty()) whole_.append(key);
  }
  std::string_view lease() const noexcept { return prefix_.empty() ? key_ : std::string_view(whole_); }
  void add_lease(Command& command) const { command.word(lease()); }
  void add(Command& command, Beside what) const {
    const Companion around = companion(what, lease());
    command.word(around.before, lease(), around.after);
  }
  std::string text(Beside what) const {
    const Companion around = companion(what, lease());
    return std::string(around.before) + std::string(lease()) + std::string(around.after);
  }
  void add_all(Command& command) const {
    add_lease(command);
    add(command, Beside::facts);
    add(command, Beside::queue);
    add(command, Beside::places);
  }

 private:
  std::string_view prefix_, key_;
  std::string whole_;  // where there is a prefix
};

}  // namespace holdfast::redis
