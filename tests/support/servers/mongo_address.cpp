// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/mongo_address.h"

#include <mongoc/mongoc.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace holdfast::test {
namespace {

// bson_t has an alignment of its own, which std::unique_ptr would warn about.
struct Document {
  explicit Document(bson_t* made) : bson(made) {}
  ~Document() { bson_destroy(bson); }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  bson_t* const bson;
};
using Client = std::unique_ptr<mongoc_client_t, decltype(&mongoc_client_destroy)>;

[[noreturn]] void refuse(const std::string& json, const std::string& why) {
  throw std::runtime_error("MongoDB refuses " + json + ": " + why);
}

std::string text_of(const bson_t& document) {
  const std::unique_ptr<char, decltype(&bson_free)> json(bson_as_relaxed_extended_json(&document, nullptr),
                                                         bson_free);
  return json.get();
}

}  // namespace

std::string MongoAddress::url(const std::string& database) const {
  const std::size_t hosts = whole_.find("://") + 3;
  const std::size_t path = std::min(whole_.find_first_of("/?", hosts), whole_.size());
  const std::size_t options = std::min(whole_.find('?', hosts), whole_.size());
  return whole_.substr(0, path) + "/" + database + whole_.substr(options);
}

std::string MongoAddress::command(const std::string& database, const std::string& json) const {
  static std::once_flag once;
  std::call_once(once, mongoc_init);
  bson_error_t error;
  const Client client(mongoc_client_new(url("").c_str()), mongoc_client_destroy);
  if (client == nullptr) refuse(json, whole_ + " is no URL of it");
  const Document command(bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.data()),
                                            static_cast<ssize_t>(json.size()), &error));
  if (command.bson == nullptr) refuse(json, error.message);
  bson_t reply;  // which the call makes in any case
  const bool done =
      mongoc_client_command_simple(client.get(), database.c_str(), command.bson, nullptr, &reply, &error);
  const Document answer(&reply);
  if (!done) refuse(json, error.message);
  return text_of(reply);
}

}  // namespace holdfast::test
