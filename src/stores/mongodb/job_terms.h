// SPDX-License-Identifier: Apache-2.0
// job_terms.h - parts of which the commands about jobs are made.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mongodb/bson.h"
#include "stores/mongodb/job_document.h"

namespace holdfast::mongodb {

inline Document& add_pipeline(Document& command, std::string_view name, const Document& text) {
  const bson_t list = View(text)["pipeline"].as_bson();
  return command.array(name, list);
}

// `field` <= the server's clock.
inline Document has_come(const char* field) {
  return Document::from_json(R"({"$lte": ["$)" + std::string(field) + R"(", "$$NOW"]})");
}

inline Document in_queues(std::span<const std::string> queues) {
  Document in, match;
  in.texts("$in", {queues.begin(), queues.end()});
  return std::move(match.document("queue", in));
}

inline Document numbers_in(const std::vector<JobId>& ids) {
  Document list, in;
  std::size_t i = 0;
  for (const JobId id : ids) list.number(std::to_string(i++), kept(id));
  return std::move(in.array("$in", list.get()));
}

inline Document is_there(bool there) { return std::move(Document().flag("$exists", there)); }

inline Document in_order() {
  return std::move(Document().number("priority", 1).number("run_at", 1).number("_id", 1));
}

inline std::vector<View> found_in(const Document& reply) {
  return View(reply)["cursor"].documents("firstBatch");
}

}  // namespace holdfast::mongodb
