// SPDX-License-Identifier: Apache-2.0
#include "stores/mongodb/connection.h"

#include <algorithm>
#include <cstring>

#include "base/socket.h"
#include "base/text.h"

namespace holdfast::mongodb {
namespace {

using namespace std::chrono_literals;

constexpr Millis longest_dial = 10s;

std::int32_t left_ms(Instant until) {
  const auto left = std::chrono::ceil<Millis>(until - BootClock::now());
  return static_cast<std::int32_t>(std::clamp<Millis>(left, 1ms, 24h).count());
}

// Takes the stream.  Null: the certificate is not good, or the time was over.
mongoc_stream_t* with_tls(mongoc_stream_t* plain, const mongoc_uri_t* uri, const char* host,
                          std::int32_t timeout, bson_error_t* error) {
  const auto flag = [&](const char* name) { return mongoc_uri_get_option_as_bool(uri, name, false); };
  const auto text = [&](const char* name) { return mongoc_uri_get_option_as_utf8(uri, name, nullptr); };
  const bool lax = flag(MONGOC_URI_TLSINSECURE);
  mongoc_ssl_opt_t options{};
  options.pem_file = text(MONGOC_URI_TLSCERTIFICATEKEYFILE);
  options.pem_pwd = text(MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD);
  options.ca_file = text(MONGOC_URI_TLSCAFILE);
  options.weak_cert_validation = lax || flag(MONGOC_URI_TLSALLOWINVALIDCERTIFICATES);
  options.allow_invalid_hostname = lax || flag(MONGOC_URI_TLSALLOWINVALIDHOSTNAMES);
  mongoc_stream_t* stream = mongoc_stream_tls_new_with_hostname(plain, host, &options, 1);
  if (!stream) {
    mongoc_stream_destroy(plain);
    bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
                   "cannot start TLS: a certificate file cannot be read");
    return nullptr;
  }
  if (mongoc_stream_tls_handshake_block(stream, host, timeout, error)) return stream;
  mongoc_stream_destroy(stream);
  const std::string said = &error->message[0];
  if (said.find("verif") == std::string::npos)  // a server that shows a certificate speaks it
    bson_set_error(error, error->domain, error->code, "%s (does the server speak TLS?)", said.c_str());
  return nullptr;
}

}  // namespace

mongoc_stream_t* Connection::open_stream(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* self,
                                         bson_error_t*) noexcept {
  Connection& connection = *static_cast<Connection*>(self);
  Deadline& deadline = connection.deadline_;
  const Instant now = BootClock::now();
  const Instant until = std::min(deadline.until, now + longest_dial);
  // One of several that does not answer must not use up the time of the others.
  const mongoc_host_list_t* seeds = mongoc_uri_get_hosts(uri);
  const bool alone = seeds == nullptr ||
                     (seeds->next == nullptr && std::strcmp(seeds->host_and_port, host->host_and_port) == 0);
  const Instant turn = alone ? until : now + (until - now) / 3;
  mongoc_stream_t* stream = nullptr;
  try {
    connection.check_way_to(*host);
    Fd socket =
        host->family == AF_UNIX ? connect_unix(host->host, turn) : connect_tcp(host->host, host->port, turn);
    stream = stream_on(std::move(socket), deadline);
    bson_error_t why{};
    if (mongoc_uri_get_tls(uri)) stream = with_tls(stream, uri, host->host, left_ms(turn), &why);
    if (!stream) connection.note_failure(alone, *host, &why.message[0]);
  } catch (const std::exception& e) {
    connection.note_failure(alone, *host, e.what());
  }
  // Never null: of a member that another one has named just now, the driver (libmongoc 1.23) takes a lock
  // twice then, and hangs for ever.
  return mongoc_stream_buffered_new(stream ? stream : stream_on(Fd(), deadline), 1024);
}

void Connection::note_failure(bool alone, const mongoc_host_list_t& host, const char* why) noexcept {
  if (failures_.size() >= sizeof(bson_error_t)) return;
  try {
    failures_ +=
        (failures_.empty() ? "" : "; ") + (alone ? "" : std::string(host.host_and_port) + ": ") + why;
  } catch (const std::bad_alloc&) {
  }
}

// A seed was looked at when the URL was read; whatever else the servers call a member is asked for here.
void Connection::check_way_to(const mongoc_host_list_t& host) {
  if (config_->tls || config_->plaintext_allowed || is_this_machine(host)) return;
  stranger_ = printable(host.host_and_port);
  throw_failure({Errc::refused, stranger_ + about_plaintext});
}

mongoc_client_t* Connection::client() {
  if (client_) return client_.get();
  client_.reset(mongoc_client_new_from_uri(config_->uri.get()));
  if (!client_)
    throw_failure(
        {Errc::unavailable, "cannot connect to " + config_->name() + ": its address cannot be resolved"});
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
  mongoc_client_set_stream_initiator(client_.get(), open_stream, this);
  return client_.get();
}

// The driver would open it anew by itself, but only after a command of ours was lost.
bool Connection::closed() { return !client_ || deadline_.any_closed(); }

Document Connection::run_in(const std::string& database, Document command, Effect effect, Instant until) {
  last_code_ = 0;
  stranger_.clear();
  failures_.clear();
  if (BootClock::now() >= until)
    throw_failure({Errc::unavailable, "timed out before the request could be sent: the connection was busy"});
  const std::int64_t left = left_ms(until);
  command.number("maxTimeMS", left);
  if (effect == Effect::writes) {
    Document concern;
    alone_ ? concern.number("w", 1) : concern.text("w", "majority");
    command.document("writeConcern", concern.flag("j", true).number("wtimeout", left));
  }
  if (effect == Effect::begins) command.document("writeConcern", Document().number("w", 1));
  mongoc_client_t* server = client();
  deadline_.until = until;
  deadline_.wrote = false;
  Document reply;
  bson_error_t error{};
  const bool good =
      mongoc_client_command_simple(server, database.c_str(), &command.get(), nullptr, &reply.raw(), &error);
  if (good) {
    if (auto trouble = trouble_in(View(reply), *config_)) {
      close_if_gone(View(reply)["writeConcernError"].number("code"));
      throw_failure(*std::move(trouble));
    }
    return reply;
  }
  // The driver only knows that a stream was broken.
  if (!failures_.empty() && (error.domain == MONGOC_ERROR_SERVER_SELECTION || !deadline_.wrote))
    bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, "%s",
                   failures_.c_str());
  Error told = to_error(error, effect, deadline_.wrote, *config_);
  if (error.domain == MONGOC_ERROR_SERVER) {
    last_code_ = error.code;
    close_if_gone(last_code_);
  } else {
    close();
  }
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION && !stranger_.empty())
    throw_failure(
        {Errc::refused, config_->place + " refers to the member " + stranger_ + ", which" + about_plaintext});
  throw_failure(std::move(told));
}

}  // namespace holdfast::mongodb
