// SPDX-License-Identifier: Apache-2.0
// driver.h - libpq, which is loaded when it is first needed, and what it gives out, with one owner each.
#pragma once
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::postgres {

// The functions that are used.  The newer ones are of libpq 14, and null where it is older.
// clang-format off
#define HOLDFAST_LIBPQ(FUNCTION, NEWER) \
  FUNCTION(PQbackendPID) \
  FUNCTION(PQclear) \
  FUNCTION(PQconndefaults) \
  FUNCTION(PQconnectPoll) \
  FUNCTION(PQconnectStartParams) \
  FUNCTION(PQconnectionNeedsPassword) \
  FUNCTION(PQconninfo) \
  FUNCTION(PQconninfoFree) \
  FUNCTION(PQconninfoParse) \
  FUNCTION(PQconsumeInput) \
  FUNCTION(PQerrorMessage) \
  FUNCTION(PQexec) \
  FUNCTION(PQexecParams) \
  FUNCTION(PQfinish) \
  FUNCTION(PQflush) \
  FUNCTION(PQfreemem) \
  FUNCTION(PQgetResult) \
  FUNCTION(PQgetisnull) \
  FUNCTION(PQgetlength) \
  FUNCTION(PQgetvalue) \
  FUNCTION(PQhost) \
  FUNCTION(PQhostaddr) \
  FUNCTION(PQisBusy) \
  FUNCTION(PQisnonblocking) \
  FUNCTION(PQnotifies) \
  FUNCTION(PQntuples) \
  FUNCTION(PQresultErrorField) \
  FUNCTION(PQresultErrorMessage) \
  FUNCTION(PQresultStatus) \
  FUNCTION(PQsendPrepare) \
  FUNCTION(PQsendQueryParams) \
  FUNCTION(PQsendQueryPrepared) \
  FUNCTION(PQsetErrorVerbosity) \
  FUNCTION(PQsetNoticeReceiver) \
  FUNCTION(PQsetnonblocking) \
  FUNCTION(PQsocket) \
  FUNCTION(PQsslInUse) \
  FUNCTION(PQstatus) \
  FUNCTION(PQtransactionStatus) \
  NEWER(PQenterPipelineMode) \
  NEWER(PQexitPipelineMode) \
  NEWER(PQpipelineStatus) \
  NEWER(PQpipelineSync)
// clang-format on

// These hide libpq's own names: a call reads as it always does, and goes to what load_libpq() has found.
#define HOLDFAST_DECLARE(name) extern decltype(&::name) name;
HOLDFAST_LIBPQ(HOLDFAST_DECLARE, HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_libpq();
inline constexpr const char* libpq_soname = "libpq.so.5";

template <auto* free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const noexcept {
    (*free)(pointer);
  }
};

using OwnedConnection = std::unique_ptr<PGconn, Freed<&PQfinish>>;
using OwnedResult = std::unique_ptr<PGresult, Freed<&PQclear>>;
using OwnedOptions = std::unique_ptr<PQconninfoOption, Freed<&PQconninfoFree>>;
using OwnedNotice = std::unique_ptr<PGnotify, Freed<&PQfreemem>>;

// Words as PQconnectStartParams takes them.  `words` must outlive this.
class Keywords {
 public:
  explicit Keywords(const std::vector<std::pair<std::string, std::string>>& words) {
    for (const auto& [name, value] : words) {
      names_.push_back(name.c_str());
      values_.push_back(value.c_str());
    }
    names_.push_back(nullptr);
    values_.push_back(nullptr);
  }
  const char* const* names() const noexcept { return names_.data(); }
  const char* const* values() const noexcept { return values_.data(); }

 private:
  std::vector<const char*> names_, values_;
};

}  // namespace holdfast::postgres
