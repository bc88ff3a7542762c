// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/subject.h"
#include "holdfast/client.h"
#include "holdfast/spi/store.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

[[maybe_unused]] SubjectKind not_built(std::string name, std::string option) {
  return {std::move(name),
          [why = "built without that store (" + std::move(option) +
                 "=OFF), or without servers to measure on"] { return why; },
          [] { return nullptr; }};
}

}  // namespace

Subjects::Subjects() {
  entries_.push_back({sqlite_subject(), nullptr});
#ifdef HOLDFAST_POSTGRES
  entries_.push_back({postgres_subject(), nullptr});
#else
  entries_.push_back({not_built("postgres", "HOLDFAST_POSTGRES"), nullptr});
#endif
#ifdef HOLDFAST_REDIS
  entries_.push_back({redis_subject(), nullptr});
#else
  entries_.push_back({not_built("redis", "HOLDFAST_REDIS"), nullptr});
#endif
#ifdef HOLDFAST_MONGODB
  entries_.push_back({mongodb_subject(), nullptr});
#else
  entries_.push_back({not_built("mongodb", "HOLDFAST_MONGODB"), nullptr});
#endif
#ifdef HOLDFAST_MARIADB
  entries_.push_back({mariadb_subject(), nullptr});
#else
  entries_.push_back({not_built("mariadb", "HOLDFAST_MARIADB"), nullptr});
#endif
}

std::string Subjects::missing(std::string_view store) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.kind.name == store; });
  return it->kind.missing();
}

Subject& Subjects::of(std::string_view store) {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.kind.name == store; });
  if (it->made == nullptr) it->made = it->kind.make();
  return *it->made;
}

void make_ready(const std::string& url) {
  try_store(url).value()->admin()->init(clamped_add(BootClock::now(), 30s)).value();
}

}  // namespace holdfast::bench
