// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/redis_server.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/time.h>

#include <sstream>
#include <stdexcept>

#include "tests/support/freeze.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {
namespace {

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;
using Answer = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

std::string text_of(const redisReply& reply) {
  std::string text;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer);
    case REDIS_REPLY_NIL: return "(nil)";
    case REDIS_REPLY_ERROR: return "(error) " + std::string(reply.str, static_cast<std::size_t>(reply.len));
    case REDIS_REPLY_ARRAY:
      for (std::size_t i = 0; i < reply.elements; ++i)
        text += (i > 0 ? "\n" : "") + text_of(*reply.element[i]);
      return text;
    default: return {reply.str, static_cast<std::size_t>(reply.len)};
  }
}

// Empty if the connection failed.
std::string ask(redisContext* context, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) texts.push_back(word.data()), sizes.push_back(word.size());
  const int count = static_cast<int>(words.size());
  const Answer answer(static_cast<redisReply*>(redisCommandArgv(context, count, texts.data(), sizes.data())),
                      freeReplyObject);
  return answer == nullptr ? "" : text_of(*answer);
}

Context connected(const std::string& socket, const RedisOptions& options) {
  Context context(redisConnectUnixWithTimeout(socket.c_str(), {20, 0}), redisFree);
  if (context == nullptr || context->err != 0) return {nullptr, redisFree};
  redisSetTimeout(context.get(), {20, 0});
  if (!options.user.empty())
    ask(context.get(), {"AUTH", options.user, options.password});
  else if (!options.password.empty())
    ask(context.get(), {"AUTH", options.password});
  return context;
}

}  // namespace

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  do {
    port_ = options_.port != 0 ? options_.port : free_port();
    if (options_.tls) tls_port_ = free_port();
  } while (!launch());
}

RedisServer::~RedisServer() {
  if (running_) running_->signal(SIGKILL);
}

std::string RedisServer::url() const {
  const std::string login = options_.password.empty() ? "" : options_.user + ":" + options_.password + "@";
  return "redis://" + login + "127.0.0.1:" + std::to_string(port_);
}

std::string RedisServer::tls_url() const {
  const std::string login = options_.password.empty() ? "" : options_.user + ":" + options_.password + "@";
  return "rediss://" + login + "localhost:" + std::to_string(tls_port_);
}

void RedisServer::stop() {
  running_->signal(SIGTERM);
  running_->signal(SIGCONT);
  running_->wait();
  running_.reset();
}

void RedisServer::kill() {
  running_->signal(SIGKILL);
  running_->wait();
  running_.reset();
}

void RedisServer::start() {
  if (!await([&] { return launch(); }))
    throw std::runtime_error("the port of redis-server stays taken by another");
}

void RedisServer::pause() { freeze(running_->pid()); }
void RedisServer::resume() { running_->signal(SIGCONT); }

std::string RedisServer::command(const std::vector<std::string>& words) const {
  const Context context = connected(socket(), options_);
  const std::string answer = context == nullptr ? "" : ask(context.get(), words);
  if (context == nullptr || context->err != 0)
    throw std::runtime_error("redis-server does not answer " + words[0] + "; it said:\n" +
                             (running_ ? running_->said() : "nothing, as it is stopped"));
  return answer;
}

bool RedisServer::launch() {
  write_configuration();
  std::vector<std::string> words{find_program("redis-server"), folder_.path() + "/redis.conf"};
  if (options_.sentinel) words.emplace_back("--sentinel");
  running_ = std::make_unique<Guarded>(
      Program{.words = std::move(words), .log = log(), .folder = folder_.path(), .end_signal = SIGKILL});
  const auto ready = [&] {
    const Context context = connected(socket(), options_);
    if (context == nullptr) return false;
    const std::string answer = ask(context.get(), {"PING"});
    return !answer.empty() && answer.find("LOADING") == std::string::npos;
  };
  const bool settled = await([&] { return running_->ended() || ready(); });
  if (settled && !running_->ended()) return true;
  const std::string said = running_->said();
  running_.reset();
  if (said.find("Address already in use") != std::string::npos) return false;
  throw std::runtime_error("redis-server does not start; it said:\n" + said);
}

void RedisServer::write_configuration() const {
  std::stringstream text;
  text << "bind 127.0.0.1\nport " << port_ << "\nunixsocket " << socket() << "\ndir " << folder_.path()
       << "\nsave \"\"\nappendonly yes\nappendfsync everysec\ndaemonize no\n";
  if (!options_.password.empty() && options_.user.empty())
    text << "requirepass " << options_.password << '\n';
  if (options_.tls)
    text << "tls-port " << tls_port_ << "\ntls-cert-file " << options_.tls->certificate << "\ntls-key-file "
         << options_.tls->key << "\ntls-ca-cert-file " << options_.tls->certificate
         << "\ntls-auth-clients no\n";
  for (const std::string& line : options_.lines) text << line << '\n';
  write_file(folder_.path() + "/redis.conf", text.str());
}

std::string redis_missing() {
  return find_program("redis-server").empty() ? "Redis is missing (Debian package redis-server)" : "";
}

}  // namespace holdfast::test
