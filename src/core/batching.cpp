// SPDX-License-Identifier: Apache-2.0
#include "core/batching.h"

#include <algorithm>
#include <numeric>

namespace holdfast::core {

std::vector<KeyBatch> key_batches(std::span<const Request> requests) {
  KeyBatch order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return requests[i].key.text; };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  std::vector<KeyBatch> key_batches;
  std::size_t nth = 0;  // number of the request among those of its key
  for (std::size_t k = 0; k < order.size(); ++k) {
    nth = k > 0 && key(order[k]) == key(order[k - 1]) ? nth + 1 : 0;
    if (nth == key_batches.size()) key_batches.emplace_back();
    key_batches[nth].push_back(order[k]);
  }
  return key_batches;
}

}  // namespace holdfast::core
