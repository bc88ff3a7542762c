// SPDX-License-Identifier: Apache-2.0
// check.h - checks the arguments of callers before anything is sent, beyond what users can check themselves
// (holdfast/check.h).
#pragma once
#include "core/terms.h"
#include "holdfast/check.h"

namespace holdfast::core {

// The time to add to a lease is above zero, and at most 100 years.
Status check_extension(Millis more);
Status check_terms(const Terms& terms, std::optional<Millis> margin);

}  // namespace holdfast::core
