// SPDX-License-Identifier: Apache-2.0
// outcome.h - what a document says of a key, and what became of a request by it.
#pragma once
#include <vector>

#include "core/rule.h"
#include "stores/mongodb/bson.h"

namespace holdfast::mongodb {

// A document, and the server's clock when it was read.
struct Seen {
  core::Record record = {};
  std::vector<std::int64_t> freed = {};  // marks of the last releases that travelled in batches
  std::optional<Micros> now = {};        // none: there is no document
};

// What all answers are made of: the fields that Seen reads.  `fixed_now`: as in StoreConfig.
Document projection(std::optional<Micros> fixed_now);
Seen seen_in(View document);

// Of a renewal or an acquire, by the document as it was afterwards.
Reply judged_after(const Request& request, std::string_view client, const Seen& after);
// Of a release or an eviction, by the document as it was before.
Reply judged_before(const Request& request, const Seen& before);
// Of one that travelled in a batch, by the document afterwards and the mark that it left if it freed the key.
Reply judged_by_mark(const Request& request, std::int64_t mark, const Seen& after);

}  // namespace holdfast::mongodb
