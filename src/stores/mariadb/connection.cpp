// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"

namespace holdfast::mariadb {
namespace {

// Whoever answers in the server's place must not be told the password as it is: the driver would send it so
// when asked to.
constexpr const char* plugins =
    "mysql_native_password,caching_sha2_password,client_ed25519,sha256_password,parsec";

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

short events_in(int status) {
  int events = 0;
  if ((status & MYSQL_WAIT_READ) != 0) events |= POLLIN;
  if ((status & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
  if ((status & MYSQL_WAIT_EXCEPT) != 0) events |= POLLPRI;
  return static_cast<short>(events);
}

}  // namespace

std::string_view Answer::text(std::size_t row, std::size_t column) const {
  return is_null(row, column) ? std::string_view() : std::string_view(*rows[row][column]);
}

std::int64_t Answer::number(std::size_t row, std::size_t column) const {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::optional<Micros> Answer::moment(std::size_t row, std::size_t column) const {
  return is_null(row, column) ? std::nullopt : std::optional(Micros(number(row, column)));
}

Connection::Connection(const StoreConfig& config, Instant until) : config_(config) {
  handle_ = mysql_init(nullptr);
  if (handle_ == nullptr)
    throw_failure({Errc::unavailable, "cannot connect to " + config_.name + ": out of memory"});
  try {
    prepare();
    connect(until);
  } catch (...) {
    mysql_close(handle_);
    throw;
  }
}

Connection::~Connection() {
  if (broken_) cut();
  mysql_close(handle_);
}

// The server undoes what it has begun for us, and the driver says no farewell, which might have to wait.
void Connection::cut() noexcept {
  if (handle_->net.pvio != nullptr) ::shutdown(static_cast<int>(mysql_get_socket(handle_)), SHUT_RDWR);
}

void Connection::prepare() {
  const Options& o = config_.options;
  const auto set = [this](enum mysql_option option, const void* value) {
    if (value != nullptr) (void)mysql_optionsv(handle_, option, value);
  };
  const my_bool yes = 1, no = 0;
  const unsigned int nothing = 0;
  const unsigned int protocol = o.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  // It allocates a stack, and the driver would use that without asking whether it has one.
  if (mysql_options(handle_, MYSQL_OPT_NONBLOCK, nullptr) != 0)
    throw_failure({Errc::unavailable, "cannot connect to " + config_.name + ": out of memory"});
  set(MYSQL_OPT_RECONNECT, &no);
  set(MYSQL_OPT_LOCAL_INFILE, &nothing);
  set(MYSQL_OPT_PROTOCOL, &protocol);
  set(MYSQL_SET_CHARSET_NAME, "utf8mb4");
  set(MARIADB_OPT_RESTRICTED_AUTH, plugins);
  if (!config_.tls()) return;
  set(MYSQL_OPT_SSL_ENFORCE, &yes);
  set(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
  set(MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
  if (!o.ssl_ca.empty()) {
    set(MYSQL_OPT_SSL_CA, o.ssl_ca.c_str());
  } else {
    // Connector/C 3.4 accepts a certificate that nobody vouches for from a server that knows the password,
    // but only where no authorities are named.  So the system's are, as OpenSSL would find them.
    const char* const folder = ::secure_getenv("SSL_CERT_DIR");
    set(MYSQL_OPT_SSL_CA, ::secure_getenv("SSL_CERT_FILE"));
    set(MYSQL_OPT_SSL_CAPATH, folder != nullptr ? folder : "/etc/ssl/certs");
  }
  set(MYSQL_OPT_SSL_CERT, or_null(o.ssl_cert));
  set(MYSQL_OPT_SSL_KEY, or_null(o.ssl_key));
}

template <class Continue>
bool Connection::finish(int status, Continue next, Instant until) {
  while (status != 0) {
    broken_ = true;
    if (!await(static_cast<int>(mysql_get_socket(handle_)), events_in(status), until)) {
      cut();
      return false;
    }
    status = next(status);
  }
  broken_ = false;
  return true;
}

void Connection::connect(Instant until) {
  const Options& o = config_.options;
  MYSQL* done = nullptr;
  // Without a password the driver looks for MYSQL_PWD.
  const int begun = mysql_real_connect_start(&done, handle_, o.socket.empty() ? o.host.c_str() : nullptr,
                                             or_null(o.user), or_null(o.password), o.database.c_str(), o.port,
                                             or_null(o.socket), CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS);
  if (!finish(
          begun, [&](int status) { return mysql_real_connect_cont(&done, handle_, status); }, until))
    throw_failure(
        {Errc::unavailable,
         config_.name +
             " accepts connections but does not answer: timed out; is it a MariaDB or MySQL server?"});
  if (done == nullptr) not_let_in();
}

Trouble Connection::trouble() const { return {mysql_errno(handle_), printable(mysql_error(handle_))}; }

void Connection::not_let_in() const {
  const Trouble why = trouble();
  if (why.code != 2026) throw_failure(connect_error(why, config_.name));
  throw_failure(
      {Errc::refused, "no safe TLS connection to " + config_.name + ": " + why.text +
                          "; give the certificate of its authority with ssl-ca=FILE, and the host name that "
                          "its own certificate contains"});
}

bool Connection::ended() const noexcept {
  if (broken_ || demoted_) return true;
  // Nothing was asked, so what comes can only be a farewell, or the end.
  pollfd one{static_cast<int>(mysql_get_socket(handle_)), POLLIN, 0};
  return ::poll(&one, 1, 0) != 0;
}

Answer Connection::take(Instant until) {
  Answer answer;
  MYSQL_RES* result = nullptr;
  const int begun = mysql_store_result_start(&result, handle_);
  if (!finish(
          begun, [&](int status) { return mysql_store_result_cont(&result, handle_, status); }, until))
    throw_failure({Errc::in_doubt, config_.name + ": timed out waiting for the reply"});
  if (mysql_errno(handle_) != 0) return answer;
  answer.affected = mysql_affected_rows(handle_);
  answer.insert_id = mysql_insert_id(handle_);
  if (result == nullptr) return answer;
  const std::unique_ptr<MYSQL_RES, decltype(mysql_free_result)> owned(result, mysql_free_result);
  const unsigned int columns = mysql_num_fields(result);
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    Answer::Row& values = answer.rows.emplace_back(columns);
    for (unsigned int i = 0; i < columns; ++i)
      if (row[i] != nullptr) values[i].emplace(row[i], lengths[i]);
  }
  return answer;
}

Answers Connection::run(const std::string& text, Instant until) {
  Answers answers;
  int failed = 0;
  int status = mysql_real_query_start(&failed, handle_, text.data(), text.size());
  bool in_time = finish(
      status, [&](int s) { return mysql_real_query_cont(&failed, handle_, s); }, until);
  while (in_time && failed == 0) {
    answers.each.push_back(take(until));
    if (mysql_errno(handle_) != 0 || mysql_more_results(handle_) == 0) break;
    status = mysql_next_result_start(&failed, handle_);
    in_time = finish(
        status, [&](int s) { return mysql_next_result_cont(&failed, handle_, s); }, until);
  }
  if (!in_time) throw_failure({Errc::in_doubt, config_.name + ": timed out waiting for the reply"});
  if (mysql_errno(handle_) == 0) return answers;
  answers.trouble = trouble();
  if (takes_no_writes(answers.trouble->code)) demoted_ = true;
  if (is_connection_lost(answers.trouble->code)) {
    broken_ = true;
    throw_failure({Errc::in_doubt, "the connection to " + config_.name +
                                       " was lost before it answered: " + answers.trouble->text});
  }
  return answers;
}

}  // namespace holdfast::mariadb
