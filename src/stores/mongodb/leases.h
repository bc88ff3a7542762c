// SPDX-License-Identifier: Apache-2.0
// leases.h - the pipelines that decide about leases, and the replies that follow from the documents.
#pragma once
#include <optional>
#include <vector>

#include "core/rule.h"
#include "stores/mongodb/bson.h"

namespace holdfast::mongodb {

// The pipelines of leases.json, by verb, and what is read of a document.  With
// layout=shedlock each begins with `seen` and ends with `written` of shedlock.json.
class LeasePipelines {
 public:
  explicit LeasePipelines(bool beside_shedlock);
  // As the field `name`.
  void add_to(Document& command, std::string_view name, Verb verb) const;
  // The fields that a Snapshot needs.
  Document fields() const { return Document::copy_of(View(fields_)); }

 private:
  Document acquire_, renew_, release_, fields_;
};

// A document, and the server's clock when it was read.
struct Snapshot {
  core::Record record = {};
  std::vector<std::int64_t> freed = {};  // marks of the last releases that were sent in batches
  std::optional<Micros> now = {};        // none: there is no document
};

Snapshot snapshot_of(View document);

// To a renewal or an acquire, by the document after it.
Reply reply_after(const Request& request, std::string_view client, const Snapshot& after);
// To a release or an eviction, by the document before it.
Reply reply_before(const Request& request, const Snapshot& before);
// To a release or an eviction in a batch, by the document after it: it has the mark if the key was freed.
Reply reply_by_mark(const Request& request, std::int64_t mark, const Snapshot& after);

}  // namespace holdfast::mongodb
