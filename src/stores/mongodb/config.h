// SPDX-License-Identifier: Apache-2.0
// config.h - what the connections of one store share: where the server is, and what the collections are
// called.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "core/findings.h"
#include "holdfast/mongodb.h"
#include "stores/mongodb/driver.h"

namespace holdfast::mongodb {

struct StoreConfig {
  Options options;
  std::shared_ptr<const mongoc_uri_t> uri;
  std::string database;
  std::string place;                 // the hosts, for people
  std::vector<std::string> secrets;  // never in a message
  std::string client;
  bool local = true;  // all of the hosts are this machine
  bool tls = false;
  bool plaintext_allowed = false;  // to other machines: the URL says tls=false, or accepts it
  bool verified = true;            // the server's certificate is checked
  bool logs_in = false;
  std::optional<Micros> fixed_now = {};  // in the place of the server's clock: core/fixed_now.h

  core::Accepted accepted() const { return {options.allow_unsafe, options.accept}; }
  // As a URL; holds no secret.
  std::string name() const {
    return printable("mongodb://" + place + "/" + database + "?collection=" + options.collection +
                     (beside_the_gem()    ? "&layout=mongo-lock"
                      : beside_shedlock() ? "&layout=shedlock"
                                          : ""));
  }
  bool beside_the_gem() const { return options.layout == Layout::mongo_lock; }
  bool beside_shedlock() const { return options.layout == Layout::shedlock; }
  // Jobs need a layout in which nobody else decides about locks.
  bool keeps_jobs() const { return options.layout == Layout::own; }
  // Everything of a key is one document there.  Beside the gem it is a collection of Holdfast's own; beside
  // ShedLock it is ShedLock's, and the documents are its own too.
  std::string leases() const { return options.collection + (beside_the_gem() ? ".holdfast" : ""); }
  // What outlives the document of a key: its log, and the largest token of all purged keys.
  std::string remains() const { return options.collection + ".holdfast_log"; }
  // One document for each job, and one for each name that has ticks.
  std::string jobs() const { return options.collection + ".holdfast_jobs"; }
  std::string ticks() const { return options.collection + ".holdfast_ticks"; }
};

inline bool is_this_machine(const mongoc_host_list_t& host) {
  return host.host[0] == '/' || is_local(host.host);
}
inline constexpr const char* about_plaintext =
    " is another machine, and the URL does not say whether to use TLS; write tls=true, or tls=false if "
    "nobody "
    "else can listen to the connection";

// A mistake in the URL or the options.
inline Error invalid(std::string text) { return {Errc::invalid, "mongodb: " + std::move(text)}; }

}  // namespace holdfast::mongodb
