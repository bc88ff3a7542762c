// SPDX-License-Identifier: Apache-2.0
#include "client/telemetry.h"

namespace holdfast {
namespace {

LogLevel level_of(Severity severity) {
  switch (severity) {
    case Severity::note: return LogLevel::info;
    case Severity::warning: return LogLevel::warning;
    case Severity::danger: break;
  }
  return LogLevel::error;
}

}  // namespace

const char* to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "?";
}

const char* to_string(StoreOperation operation) noexcept {
  switch (operation) {
    case StoreOperation::connect: return "connect";
    case StoreOperation::apply: return "apply";
    case StoreOperation::list: return "list";
    case StoreOperation::examine: return "examine";
    case StoreOperation::init: return "init";
    case StoreOperation::purge: return "purge";
    case StoreOperation::jobs: return "jobs";
  }
  return "?";
}

Observer::~Observer() = default;

const char* to_string(RetryEvent::What what) noexcept {
  switch (what) {
    case RetryEvent::What::acquire: return "acquire";
    case RetryEvent::What::renew: return "renew";
    case RetryEvent::What::release: return "release";
  }
  return "?";
}

void Telemetry::log(LogLevel level, std::string_view text,
                    std::initializer_list<LogField> fields) const noexcept {
  if (!logs()) return;
  guarded([&] {
    std::vector<LogField> all{{"store", store_}};
    all.insert(all.end(), fields.begin(), fields.end());
    const LogRecord record{level, text, all};
    notify(&Observer::on_log, record);
    if (log_) log_(record);
  });
}

// The text names the store, the finding and the advice.
void Telemetry::log(const Finding& finding) const noexcept {
  guarded([&] {
    const std::string advice = finding.advice.empty() ? "" : "; " + finding.advice;
    const std::string text =
        store_ + ": " + finding.what + advice + ", or accept it with accept=" + finding.topic + " in the URL";
    if (!on_finding_) return log(level_of(finding.severity), text, {{"topic", finding.topic}});
    const LogField fields[] = {{"store", store_}, {"topic", finding.topic}};
    notify(&Observer::on_log, LogRecord{level_of(finding.severity), text, fields});
    on_finding_(finding, text);
  });
}

void Telemetry::remember(StoreCall call) {
  const std::lock_guard lock(calls_mutex_);
  calls_.push_back(std::move(call));
}

void Telemetry::report_calls() noexcept {
  if (!observer_) return;
  std::vector<StoreCall> calls;
  {
    const std::lock_guard lock(calls_mutex_);
    calls.swap(calls_);
  }
  for (const StoreCall& call : calls) {
    notify(&Observer::on_store_call, StoreCallEvent{store_, call.operation, call.requests, call.took,
                                                    call.error ? &*call.error : nullptr});
  }
}

thread_local const Telemetry* Telemetry::here_ = nullptr;

bool Telemetry::enter() {
  const std::lock_guard lock(background_mutex_);
  if (!closed_) ++inside_;
  return !closed_;
}

void Telemetry::leave() {
  const std::lock_guard lock(background_mutex_);
  --inside_;
  left_.notify_all();
}

void Telemetry::close(Millis patience) {
  std::unique_lock lock(background_mutex_);
  closed_ = true;
  left_.wait_for(lock, patience, [this] { return inside_ == (here_ == this ? 1 : 0); });
}

}  // namespace holdfast
