// SPDX-License-Identifier: Apache-2.0
// fault.h - what the server's errors mean to a caller of ours.
#pragma once
#include <string_view>
#include <system_error>

#include "holdfast/result.h"
#include "stores/redis/config.h"
#include "stores/redis/protocol.h"

namespace holdfast::redis {

// Errc::unavailable for what passes by itself, Errc::refused for what somebody has to change, in both cases
// with nothing done; Errc::in_doubt for a script that had begun to write.  `otherwise`: what an error that is
// not known means.
Error to_error(std::string_view from_server, const StoreConfig& config, Errc otherwise = Errc::refused);

// The same for the answer to AUTH.  Of that none of the server's words are repeated: it may have repeated
// ours.
Error login_error(std::string_view from_server, const StoreConfig& config);

// The server does not let the user have a key that the command names, and has not begun it.
bool denies_key(std::string_view from_server);

// Somebody else's data stands where the lease would: `what` is its type, or "name" if the name is ours.
Error no_lease(std::string_view key, std::string_view what, const StoreConfig& config);

// Somebody else's data stands in a key beside the lease: `name`.
Error companion_overwritten(std::string_view key, std::string_view name, const StoreConfig& config);

// The reply does not have the form that our scripts give it.
Error not_understood();

// The server's clock jumped each time that the request was sent.
Error clock_jumped();

// The first bytes are none of Redis's.
Error wrong_protocol(std::string_view first, const StoreConfig& config);

// The answer, unless it is an error of the server: then throws Failure.
Answer checked(Answer answer, const StoreConfig& config, Errc otherwise = Errc::refused);

// Calls `work`, which returns a Result or a Status; what it throws is returned as an error.
template <class Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Failure& failure) {
    return failure.error();
  } catch (const std::system_error& e) {  // no thread, no descriptor
    return Error{Errc::unavailable, e.what()};
  }
}

}  // namespace holdfast::redis
