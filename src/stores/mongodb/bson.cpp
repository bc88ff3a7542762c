// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/bson.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace holdfast::mongodb {
namespace {

int length(std::string_view text) { return static_cast<int>(text.size()); }

std::string_view text_at(const bson_iter_t& at) {
  std::uint32_t size = 0;
  const char* text = bson_iter_utf8(&at, &size);
  return {text, size};
}

}  // namespace

Document Document::from_json(std::string_view json) {
  Document made;
  bson_destroy(&made.bson_);
  bson_error_t error;
  [[maybe_unused]] const bool good =
      bson_init_from_json(&made.bson_, json.data(), static_cast<ssize_t>(json.size()), &error);
  assert(good);
  return made;
}

Document& Document::text(std::string_view name, std::string_view value) {
  // Without an address the driver would write null.
  bson_append_utf8(&bson_, name.data(), length(name), value.empty() ? "" : value.data(), length(value));
  return *this;
}

Document& Document::number(std::string_view name, std::int64_t value) {
  bson_append_int64(&bson_, name.data(), length(name), value);
  return *this;
}

Document& Document::flag(std::string_view name, bool value) {
  bson_append_bool(&bson_, name.data(), length(name), value);
  return *this;
}

Document& Document::moment(std::string_view name, std::optional<Micros> value) {
  if (!value) return null(name);
  bson_append_date_time(&bson_, name.data(), length(name), std::chrono::floor<Millis>(*value).count());
  return *this;
}

Document& Document::null(std::string_view name) {
  bson_append_null(&bson_, name.data(), length(name));
  return *this;
}

Document& Document::document(std::string_view name, const Document& value) {
  bson_append_document(&bson_, name.data(), length(name), &value.bson_);
  return *this;
}

Document& Document::array(std::string_view name, const std::vector<Document>& values) {
  Document list;
  std::size_t i = 0;
  for (const Document& value : values) list.document(std::to_string(i++), value);
  return array(name, list.bson_);
}

Document& Document::array(std::string_view name, const bson_t& values) {
  bson_append_array(&bson_, name.data(), length(name), &values);
  return *this;
}

Document& Document::texts(std::string_view name, const std::vector<std::string_view>& values) {
  Document list;
  std::size_t i = 0;
  for (const std::string_view value : values) list.text(std::to_string(i++), value);
  return array(name, list.bson_);
}

Document& Document::all_of(const View& other) {
  const bson_t bson = other.as_bson();
  bson_concat(&bson_, &bson);
  return *this;
}

Document Document::copy_of(const View& view) { return std::move(Document().all_of(view)); }

Document Document::with_now(const View& command, Micros now) {
  Document copy;
  const bson_t original = command.as_bson();
  bson_iter_t at;
  if (!bson_iter_init_from_data(&at, bson_get_data(&original), original.len)) return copy;
  while (bson_iter_next(&at)) {
    const char* const name = bson_iter_key(&at);
    if (BSON_ITER_HOLDS_UTF8(&at) && text_at(at) == "$$NOW")
      copy.document(name, Document().moment("$literal", std::optional(now)));
    else if (BSON_ITER_HOLDS_ARRAY(&at))
      copy.array(name, with_now(command[name], now).get());
    else if (BSON_ITER_HOLDS_DOCUMENT(&at))
      copy.document(name, with_now(command[name], now));
    else
      bson_append_iter(&copy.bson_, name, -1, &at);
  }
  return copy;
}

std::optional<bson_iter_t> View::find(const char* name) const {
  bson_iter_t iter;
  if (!data_ || !bson_iter_init_from_data(&iter, data_, size_) || !bson_iter_find(&iter, name))
    return std::nullopt;
  return iter;
}

View View::child(const bson_iter_t& at) {
  View view;
  if (BSON_ITER_HOLDS_DOCUMENT(&at)) bson_iter_document(&at, &view.size_, &view.data_);
  if (BSON_ITER_HOLDS_ARRAY(&at)) bson_iter_array(&at, &view.size_, &view.data_);
  return view;
}

bool View::has(const char* name) const { return find(name).has_value(); }

bson_type_t View::type(const char* name) const {
  const auto at = find(name);
  return at ? bson_iter_type(&*at) : BSON_TYPE_EOD;
}

std::string_view View::text(const char* name) const {
  const auto at = find(name);
  return at && BSON_ITER_HOLDS_UTF8(&*at) ? text_at(*at) : std::string_view();
}

std::int64_t View::number(const char* name) const {
  const auto at = find(name);
  return at ? bson_iter_as_int64(&*at) : 0;
}

bool View::flag(const char* name) const {
  const auto at = find(name);
  return at && bson_iter_as_bool(&*at);
}

std::optional<Micros> View::moment(const char* name) const {
  const auto at = find(name);
  if (!at || !BSON_ITER_HOLDS_DATE_TIME(&*at)) return std::nullopt;
  constexpr Millis last = std::chrono::floor<Millis>(Micros::max());
  return std::clamp(Millis(bson_iter_date_time(&*at)), -last, last);
}

bool View::is_null(const char* name) const {
  const auto at = find(name);
  return at && BSON_ITER_HOLDS_NULL(&*at);
}

View View::operator[](const char* name) const {
  const auto at = find(name);
  return at ? child(*at) : View();
}

template <class Use>
void View::each(const char* name, const Use& use) const {
  const View list = (*this)[name];
  bson_iter_t iter;
  if (!list || !bson_iter_init_from_data(&iter, list.data_, list.size_)) return;
  while (bson_iter_next(&iter)) use(iter);
}

std::vector<View> View::documents(const char* name) const {
  std::vector<View> all;
  each(name, [&](const bson_iter_t& at) {
    if (const View view = child(at)) all.push_back(view);
  });
  return all;
}

std::vector<std::int64_t> View::numbers(const char* name) const {
  std::vector<std::int64_t> all;
  each(name, [&](const bson_iter_t& at) { all.push_back(bson_iter_as_int64(&at)); });
  return all;
}

std::vector<std::string_view> View::texts(const char* name) const {
  std::vector<std::string_view> all;
  each(name, [&](const bson_iter_t& at) {
    if (BSON_ITER_HOLDS_UTF8(&at)) all.push_back(text_at(at));
  });
  return all;
}

std::string_view View::object_id(const char* name) const {
  const auto at = find(name);
  if (!at || !BSON_ITER_HOLDS_OID(&*at)) return {};
  return {reinterpret_cast<const char*>(bson_iter_oid(&*at)->bytes), sizeof(bson_oid_t)};
}

bson_t View::as_bson() const {
  bson_t bson = BSON_INITIALIZER;
  if (data_) bson_init_static(&bson, data_, size_);
  return bson;
}

// -- commands

Document find_command(std::string_view collection, const Document& filter, const Document& more,
                      std::size_t limit) {
  Document command;
  command.text("find", collection).document("filter", filter).all_of(View(more));
  const auto most = static_cast<std::int64_t>(limit);
  return std::move(command.number("limit", most).number("batchSize", most).flag("singleBatch", true));
}

Document update_command(std::string_view collection, Document one) {
  std::vector<Document> updates;
  updates.push_back(std::move(one));
  return std::move(Document().text("update", collection).array("updates", updates));
}

Document delete_command(std::string_view collection, const Document& match, int limit) {
  std::vector<Document> deletes(1);
  deletes[0].document("q", match).number("limit", limit);
  return std::move(Document().text("delete", collection).array("deletes", deletes));
}

}  // namespace holdfast::mongodb
