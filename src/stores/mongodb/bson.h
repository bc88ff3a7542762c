// SPDX-License-Identifier: Apache-2.0
// bson.h - documents: made, read, and as commands.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/row.h"
#include "holdfast/clock.h"
#include "stores/mongodb/driver.h"

namespace holdfast::mongodb {

// A document that is being made, field by field.  Texts are values: the server never reads them as
// expressions.
class Document {
 public:
  Document() { bson_init(&bson_); }
  ~Document() { bson_destroy(&bson_); }
  Document(Document&& other) noexcept { bson_steal(&bson_, &other.bson_), bson_init(&other.bson_); }
  Document& operator=(Document&&) = delete;

  Document& text(std::string_view name, std::string_view value);
  Document& number(std::string_view name, std::int64_t value);
  Document& flag(std::string_view name, bool value);
  // Rounded down to milliseconds; or null.
  Document& moment(std::string_view name, std::optional<Micros> value);
  Document& moment(std::string_view name, std::optional<Moment> value) {
    return moment(name, value ? std::optional(value->time_since_epoch()) : std::nullopt);
  }
  Document& null(std::string_view name);
  // In milliseconds; null for `never`.
  Document& duration(std::string_view name, Millis value) {
    const auto micros = core::length_of(value);
    return micros ? number(name, *micros / 1000) : null(name);
  }
  Document& document(std::string_view name, const Document& value);
  Document& array(std::string_view name, const std::vector<Document>& values);
  Document& array(std::string_view name, const bson_t& values);
  Document& texts(std::string_view name, const std::vector<std::string_view>& values);
  Document& all_of(const class View& other);  // its fields

  static Document from_json(std::string_view json);  // one of Holdfast's own texts
  // Never destroyed: a thread that hangs with its server may read it while the process ends.
  static const Document& for_ever(std::string_view json) { return *new Document(from_json(json)); }
  static Document copy_of(const class View& view);
  // A copy in which that moment stands in the place of the server's clock ("$$NOW").
  static Document with_now(const class View& command, Micros now);

  const bson_t& get() const noexcept { return bson_; }
  bson_t& raw() noexcept { return bson_; }

 private:
  bson_t bson_;
};

// A document that is read.  It must not outlive what it is in.  A field that is missing or of another type
// reads as empty.
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
  template <class Use>
  void each(const char* name, const Use& use) const;  // element of that array
  static View child(const bson_iter_t& at);

  const std::uint8_t* data_ = nullptr;
  std::uint32_t size_ = 0;
};

// Values for the variables of a pipeline.  `let` takes expressions, so its values are wrapped in $literal: an
// owner may be called "$token".  The constants of the update command (`c`) are taken as they are.
class Constants {
 public:
  explicit Constants(bool literally) : literally_(literally) {}

  Constants& text(std::string_view name, std::string_view value) {
    return put(name, [&](Document& d, std::string_view n) { d.text(n, value); });
  }
  Constants& number(std::string_view name, std::int64_t value) {
    return put(name, [&](Document& d, std::string_view n) { d.number(n, value); });
  }
  Constants& flag(std::string_view name, bool value) {
    return put(name, [&](Document& d, std::string_view n) { d.flag(n, value); });
  }
  Constants& moment(std::string_view name, std::optional<Micros> value) {
    return put(name, [&](Document& d, std::string_view n) { d.moment(n, value); });
  }
  Constants& duration(std::string_view name, Millis value) {
    return put(name, [&](Document& d, std::string_view n) { d.duration(n, value); });
  }
  Constants& texts(std::string_view name, const std::vector<std::string_view>& values) {
    return put(name, [&](Document& d, std::string_view n) { d.texts(n, values); });
  }
  Constants& array(std::string_view name, const std::vector<Document>& values) {
    return put(name, [&](Document& d, std::string_view n) { d.array(n, values); });
  }

  const Document& all() const noexcept { return all_; }

 private:
  template <class Add>
  Constants& put(std::string_view name, Add add) {
    if (!literally_) {
      add(all_, name);
      return *this;
    }
    Document literal;
    add(literal, "$literal");
    all_.document(name, literal);
    return *this;
  }

  const bool literally_;
  Document all_;
};

// -- commands

// `more`: further fields, such as projection and sort.  Answers at most `limit` documents, and at most 16 MB.
Document find_command(std::string_view collection, const Document& filter, const Document& more,
                      std::size_t limit);
// `one` has the fields q and u.
Document update_command(std::string_view collection, Document one);
// limit 0: all that match.
Document delete_command(std::string_view collection, const Document& match, int limit);

// The documents that a find or an aggregate has answered.
inline std::vector<View> documents_in(const Document& reply) {
  return View(reply)["cursor"].documents("firstBatch");
}

}  // namespace holdfast::mongodb
