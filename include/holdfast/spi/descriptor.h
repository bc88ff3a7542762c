// SPDX-License-Identifier: Apache-2.0
// descriptor.h - what a store says about itself, as data.  open(), the command and the tests read it, so that
// nothing about a store is known outside its folder and its public header.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/result.h"
#include "holdfast/spi/store.h"

namespace holdfast {

struct Url;  // the parsed URL of a store; internal

// A parameter in the URL of a store: ?NAME=VALUE.  The table on the store's page has the same rows.
struct UrlParameter {
  std::string_view name;
  // What to write.  Words in small letters, with | between them, are the only values ("own|other"); anything
  // else stands for a value of the user ("NAME").
  std::string_view value;
  std::string_view meaning;        // a sentence
  std::string_view fallback = {};  // what holds if it is not given; empty: nothing
  std::string_view scheme = {};    // it is known in URLs of this scheme only; empty: in all
};

// In its own layout, on a server that is set up well.
struct StoreCapabilities {
  bool push = false;          // it notifies waiters
  bool fair = false;          // waiters are served in order
  bool durable = false;       // a grant that was acknowledged survives a crash of the server
  bool jobs = false;          // it keeps jobs too
  bool transactions = false;  // jobs can be enqueued in a transaction of the caller
};

// Where the leases are.
enum class StorePlace : std::uint8_t { server, file, process };

// How its tables come to exist.
enum class StoreTables : std::uint8_t { none, at_first_use, by_init };

struct StoreLibrary {
  std::string name;
  std::string version;  // of the one that is installed; empty: none is
};

using ListTopics = std::vector<std::string_view> (*)();
using OpenStore = Result<std::shared_ptr<Store>> (*)(const Url& url);
using ListLibraries = std::vector<StoreLibrary> (*)();
using MakeUrl = std::string (*)();

struct StoreDescriptor {
  std::string_view name;                     // of its folder and its header, and the first part of its topics
  std::span<const std::string_view> titles;  // of its databases, for people
  std::span<const std::string_view> schemes;  // of its URLs; the first is the usual one
  std::string_view url;                       // an example: SCHEME://USER@HOST/DATABASE
  std::string_view page = {};                 // of the documentation; empty: none
  StorePlace place = StorePlace::server;
  StoreTables tables = StoreTables::none;
  StoreCapabilities capabilities = {};
  std::span<const UrlParameter> parameters = {};
  std::string_view other_parameters = {};   // which its driver knows, for people; empty: others are refused
  std::string_view password_variable = {};  // of the environment, which its driver reads; empty: none
  ListTopics topics;                        // of all that it can find: Finding::topic, accept= in a URL
  std::string_view fence = {};              // code of the fence, to be run in that database; empty: none
  OpenStore open;                           // a URL whose scheme is one of these
  ListLibraries libraries = nullptr;        // loads its drivers; null: it needs none
  MakeUrl default_url = nullptr;            // of the store that is used if none is given; null: not this one
};

// The stores that were built.
HOLDFAST_API std::span<const StoreDescriptor> store_descriptors();

// By a URL of that store, or Store::name(); null if its scheme is not known.
HOLDFAST_API const StoreDescriptor* descriptor_of(std::string_view url);

// The store that is used if none is given.
HOLDFAST_API const StoreDescriptor& default_store();

}  // namespace holdfast
