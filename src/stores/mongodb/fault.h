// SPDX-License-Identifier: Apache-2.0
// fault.h - from an error of the server or the driver to an Error.
#pragma once
#include "holdfast/result.h"
#include "stores/mongodb/bson.h"
#include "stores/mongodb/config.h"

namespace holdfast::mongodb {

enum class Effect : std::uint8_t {
  reads,
  writes,
  // A write that is not reported before a later one has been confirmed.  Journal and oplog keep the order, so
  // the later one confirms both.
  begins,
};

// The command failed.  `sent`: a part of it can have reached the server.
Error to_error(const bson_error_t& error, Effect effect, bool sent, const StoreConfig& config);

// The write concern error that a reply can have beside ok: 1.
std::optional<Error> write_concern_error(View reply, const StoreConfig& config);

// Somebody else inserted the same document at the same moment: send it again.
bool is_collision(std::int64_t code) noexcept;
// The server refuses this document, but not the others of the same command.
bool is_about_document(std::int64_t code) noexcept;
// The server is no longer the primary, or is being stopped.
bool is_departure(std::int64_t code) noexcept;
// From one of the writeErrors of a reply, which has one for each document that was not written.
Error write_error(View error, const StoreConfig& config);
// Throws Failure for the first of them.
void throw_write_errors(const Document& reply, const StoreConfig& config);

}  // namespace holdfast::mongodb
