// SPDX-License-Identifier: Apache-2.0
// bson.h - documents: made, and read.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "holdfast/clock.h"
#include "stores/mongodb/mongoc.h"

namespace holdfast::mongodb {

// One that is being made.  Each field follows the one before.  Texts are values and never anything else:
// what stands in them means nothing to the server.
class Document {
 public:
  Document() { bson_init(&bson_); }
  ~Document() { bson_destroy(&bson_); }
  Document(Document&& other) noexcept { bson_steal(&bson_, &other.bson_), bson_init(&other.bson_); }
  Document& operator=(Document&&) = delete;

  Document& text(std::string_view name, std::string_view value);
  Document& number(std::string_view name, std::int64_t value);
  Document& flag(std::string_view name, bool value);
  // Cut to milliseconds; or null.
  Document& moment(std::string_view name, std::optional<Micros> value);
  Document& moment(std::string_view name, std::optional<Moment> value) {
    return moment(name, value ? std::optional(value->time_since_epoch()) : std::nullopt);
  }
  Document& null(std::string_view name);
  Document& document(std::string_view name, const Document& value);
  Document& array(std::string_view name, const std::vector<Document>& values);
  Document& array(std::string_view name, const bson_t& values);
  Document& texts(std::string_view name, const std::vector<std::string_view>& values);

  static Document from_json(std::string_view json);  // a text of ours
  // Never destroyed: a thread that hangs with its server may read it while the process ends.
  static const Document& for_ever(std::string_view json) { return *new Document(from_json(json)); }
  static Document copy_of(const class View& view);

  const bson_t& get() const noexcept { return bson_; }
  bson_t& raw() noexcept { return bson_; }

 private:
  bson_t bson_;
};

// One that is read, and lives no longer than what it is in.  What is missing, or of another type, is empty.
class View {
 public:
  View() = default;
  explicit View(const bson_t& bson) noexcept : data_(bson_get_data(&bson)), size_(bson.len) {}
  explicit View(const Document& document) noexcept : View(document.get()) {}

  explicit operator bool() const noexcept { return data_ != nullptr; }
  bool has(const char* name) const;
  bson_type_t type(const char* name) const;  // BSON_TYPE_EOD: it is missing
  std::string_view text(const char* name) const;
  std::int64_t number(const char* name) const;
  bool flag(const char* name) const;
  std::optional<Micros> moment(const char* name) const;
  View operator[](const char* name) const;              // a document or an array
  std::vector<View> documents(const char* name) const;  // in that array
  std::vector<std::int64_t> numbers(const char* name) const;
  std::vector<std::string_view> texts(const char* name) const;  // in that array
  std::string_view object_id(const char* name) const;           // its twelve bytes
  bool is_null(const char* name) const;
  // As a document of the driver.
  bson_t as_bson() const;

 private:
  std::optional<bson_iter_t> find(const char* name) const;
  static View child(const bson_iter_t& at);

  const std::uint8_t* data_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace holdfast::mongodb
