// SPDX-License-Identifier: Apache-2.0
// key_batches.h - a batch in parts that have each key once: what one statement can touch.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "holdfast/spi/store.h"

namespace holdfast::core {

// Indices into a batch.
using KeyBatch = std::vector<std::size_t>;

// Keys in bytewise order, which is the same for everybody: so no two wait for each other's rows.  Requests
// for one key are in key batches that follow each other, in the order given.
std::vector<KeyBatch> key_batches(std::span<const Request> requests);

}  // namespace holdfast::core
