// SPDX-License-Identifier: Apache-2.0
// driver.h - libmongoc, which is loaded when it is first needed.
#pragma once
#include <mongoc/mongoc.h>

#include "holdfast/result.h"

namespace holdfast::mongodb {

// The functions of libmongoc and libbson that are used.
// clang-format off
#define HOLDFAST_MONGOC(FUNCTION) \
  FUNCTION(bson_append_array) \
  FUNCTION(bson_append_bool) \
  FUNCTION(bson_append_date_time) \
  FUNCTION(bson_append_document) \
  FUNCTION(bson_append_int64) \
  FUNCTION(bson_append_iter) \
  FUNCTION(bson_append_null) \
  FUNCTION(bson_append_utf8) \
  FUNCTION(bson_concat) \
  FUNCTION(bson_destroy) \
  FUNCTION(bson_get_data) \
  FUNCTION(bson_init) \
  FUNCTION(bson_init_from_json) \
  FUNCTION(bson_init_static) \
  FUNCTION(bson_iter_array) \
  FUNCTION(bson_iter_as_bool) \
  FUNCTION(bson_iter_as_int64) \
  FUNCTION(bson_iter_date_time) \
  FUNCTION(bson_iter_document) \
  FUNCTION(bson_iter_find) \
  FUNCTION(bson_iter_init_from_data) \
  FUNCTION(bson_iter_key) \
  FUNCTION(bson_iter_next) \
  FUNCTION(bson_iter_oid) \
  FUNCTION(bson_iter_type) \
  FUNCTION(bson_iter_utf8) \
  FUNCTION(bson_set_error) \
  FUNCTION(bson_steal) \
  FUNCTION(mongoc_change_stream_destroy) \
  FUNCTION(mongoc_change_stream_error_document) \
  FUNCTION(mongoc_change_stream_next) \
  FUNCTION(mongoc_client_command_simple) \
  FUNCTION(mongoc_client_destroy) \
  FUNCTION(mongoc_client_get_collection) \
  FUNCTION(mongoc_client_get_server_descriptions) \
  FUNCTION(mongoc_client_new_from_uri) \
  FUNCTION(mongoc_client_set_error_api) \
  FUNCTION(mongoc_client_set_stream_initiator) \
  FUNCTION(mongoc_collection_destroy) \
  FUNCTION(mongoc_collection_watch) \
  FUNCTION(mongoc_init) \
  FUNCTION(mongoc_log_set_handler) \
  FUNCTION(mongoc_server_description_hello_response) \
  FUNCTION(mongoc_server_description_host) \
  FUNCTION(mongoc_server_description_last_update_time) \
  FUNCTION(mongoc_server_description_round_trip_time) \
  FUNCTION(mongoc_server_descriptions_destroy_all) \
  FUNCTION(mongoc_stream_buffered_new) \
  FUNCTION(mongoc_stream_destroy) \
  FUNCTION(mongoc_stream_tls_handshake_block) \
  FUNCTION(mongoc_stream_tls_new_with_hostname) \
  FUNCTION(mongoc_uri_destroy) \
  FUNCTION(mongoc_uri_get_appname) \
  FUNCTION(mongoc_uri_get_auth_mechanism) \
  FUNCTION(mongoc_uri_get_database) \
  FUNCTION(mongoc_uri_get_hosts) \
  FUNCTION(mongoc_uri_get_option_as_bool) \
  FUNCTION(mongoc_uri_get_option_as_utf8) \
  FUNCTION(mongoc_uri_get_password) \
  FUNCTION(mongoc_uri_get_srv_hostname) \
  FUNCTION(mongoc_uri_get_tls) \
  FUNCTION(mongoc_uri_get_username) \
  FUNCTION(mongoc_uri_has_option) \
  FUNCTION(mongoc_uri_new_with_error) \
  FUNCTION(mongoc_uri_option_is_bool) \
  FUNCTION(mongoc_uri_option_is_int32) \
  FUNCTION(mongoc_uri_option_is_int64) \
  FUNCTION(mongoc_uri_option_is_utf8) \
  FUNCTION(mongoc_uri_set_appname) \
  FUNCTION(mongoc_uri_set_option_as_bool)
// clang-format on

// These hide libmongoc's own names: a call reads as it always does, and goes to what load_mongoc() has found.
#define HOLDFAST_DECLARE(name) extern decltype(&::name) name;
HOLDFAST_MONGOC(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

// REQUIRES: before any other use of it.  Any thread may call it.
Status load_mongoc();

inline constexpr const char* mongoc_soname = "libmongoc-1.0.so.0";

// When Debian's libmongoc is loaded, it creates a file of shared memory for its counters, named after the
// pid.  A process that is killed leaves the file behind, and the next process with that pid prints a warning
// on stderr. So the file is removed before and after loading.  If the program had loaded the library before,
// it may use the file, and it is not removed.
class NoMongocFile {
 public:
  NoMongocFile();
  ~NoMongocFile() { remove(); }
  NoMongocFile(const NoMongocFile&) = delete;
  NoMongocFile& operator=(const NoMongocFile&) = delete;

 private:
  void remove() const;
  const bool ours_;
};

}  // namespace holdfast::mongodb
