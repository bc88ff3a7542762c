// SPDX-License-Identifier: Apache-2.0
// fault.h - what the server's and the driver's errors mean to a caller of ours.
#pragma once
#include "holdfast/result.h"
#include "stores/mongodb/bson.h"
#include "stores/mongodb/config.h"

namespace holdfast::mongodb {

enum class Effect : std::uint8_t {
  reads,
  writes,
  // A write that nobody is told of before another one has been confirmed.  Journal and oplog keep the order,
  // so that one confirms both.
  begins,
};

// The command failed.  `sent`: a part of it can have reached the server.
Error to_error(const bson_error_t& error, Effect effect, bool sent, const StoreConfig& config);

// What an answer says beside ok: 1.  None: all is well.
std::optional<Error> trouble_in(View reply, const StoreConfig& config);

// Somebody else made the same document at the same moment: ask again.
bool is_collision(std::int64_t code) noexcept;
// The server does not take this document; others of the same command it does.
bool is_about_document(std::int64_t code) noexcept;
// The server is no longer the primary, or is being stopped.
bool is_departure(std::int64_t code) noexcept;
// One of a batch failed with that.
Error write_error(View error, const StoreConfig& config);

}  // namespace holdfast::mongodb
