// SPDX-License-Identifier: Apache-2.0
#include "tests/support/servers/mongo_server.h"

#include <signal.h>

#include <stdexcept>

#include "tests/support/freeze.h"
#include "tests/support/servers/engine.h"
#include "tests/support/servers/port.h"

namespace holdfast::test {

MongoServer::MongoServer(MongoOptions options) : options_(options) {
  do {
    port_ = options_.port != 0 ? options_.port : free_port();
  } while (!launch());
}

MongoServer::~MongoServer() {
  if (running_) running_->signal(SIGKILL);
}

void MongoServer::stop() {
  running_->signal(SIGTERM);
  running_->signal(SIGCONT);
  running_->wait();
  running_.reset();
}

void MongoServer::kill() {
  running_->signal(SIGKILL);
  running_->wait();
  running_.reset();
}

void MongoServer::start() {
  if (!await([&] { return launch(); }))
    throw std::runtime_error("the port of MongoDB stays taken by another");
}

void MongoServer::pause() { freeze(running_->pid()); }
void MongoServer::resume() { running_->signal(SIGCONT); }

bool MongoServer::launch() {
  const std::string engine = engine_folder(HOLDFAST_MONGODB_ENGINE);
  running_ = std::make_unique<Guarded>(Program{.words = {engine + "/node", HOLDFAST_MONGODB_SERVE, engine,
                                                         folder_.path() + "/data", std::to_string(port_)},
                                               .log = log(),
                                               .folder = folder_.path(),
                                               .end_signal = SIGKILL});
  whole_ = "mongodb://127.0.0.1:" + std::to_string(port_);
  const auto ready = [&] { return running_->said().find("ready\n") != std::string::npos; };
  const bool settled = await([&] { return running_->ended() || ready(); }, std::chrono::minutes(1));
  if (settled && !running_->ended()) return true;
  const std::string said = running_->said();
  running_.reset();
  if (said.find("EADDRINUSE") != std::string::npos) return false;
  throw std::runtime_error("MongoDB does not start; it said:\n" + said);
}

std::string mongodb_missing() {
  if (!has_engine(HOLDFAST_MONGODB_ENGINE))
    return "MongoDB is missing (tests/support/servers/engines/fetch.sh mongodb fetches it)";
  return find_program("node").empty() ? "MongoDB runs in node, which is missing (Debian package nodejs)" : "";
}

}  // namespace holdfast::test
