// SPDX-License-Identifier: Apache-2.0
// The names of the enums that stores use, and what a store inherits if it does not override it.
#include <cassert>
#include <utility>

#include "holdfast/rows.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

namespace holdfast {
namespace {

template <class Reply>
Reply reply_of(Result<Reply> answer) {
  if (answer) return *std::move(answer);
  Reply failed;
  failed.error = std::move(answer).error();
  return failed;
}

}  // namespace

const char* to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::danger: return "danger";
  }
  return "?";
}

const char* to_string(Grade grade) noexcept {
  switch (grade) {
    case Grade::A: return "A";
    case Grade::B: return "B";
    case Grade::C: return "C";
    case Grade::D: return "D";
  }
  return "?";
}

const char* to_string(JobState state) noexcept {
  switch (state) {
    case JobState::queued: return "queued";
    case JobState::running: return "running";
    case JobState::done: return "done";
    case JobState::dead: return "dead";
    case JobState::dropped: return "dropped";
    case JobState::cancelled: return "cancelled";
  }
  return "?";
}

const char* to_string(Unique unique) noexcept {
  switch (unique) {
    case Unique::no: return "no";
    case Unique::loner: return "loner";
    case Unique::until_start: return "until_start";
    case Unique::until_success: return "until_success";
  }
  return "?";
}

const char* to_string(OnConflict what) noexcept {
  switch (what) {
    case OnConflict::drop: return "drop";
    case OnConflict::wait: return "wait";
    case OnConflict::raise: return "raise";
    case OnConflict::replace: return "replace";
  }
  return "?";
}

Result<Diagnosis> StoreAdmin::diagnose(Instant) { return Diagnosis{}; }

JobKeyForm Store::job_key_form() const noexcept { return JobKeyForm::exact; }

Status Enqueuer::enqueue_all(std::span<const NewJob> jobs, std::span<EnqueueReply> replies, Instant until) {
  assert(replies.size() == jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) replies[i] = reply_of(enqueue(jobs[i], until));
  return Status{};
}

Status JobEngine::finish_and_claim(std::span<const Finish> done, std::span<Finished> finished,
                                   const ClaimRequest& request, std::span<const OwnerView> owners,
                                   std::span<Claimed> claimed, Instant until) {
  assert(finished.size() == done.size() && claimed.size() == owners.size());
  for (std::size_t i = 0; i < done.size(); ++i) finished[i] = reply_of(finish(done[i], until));
  ClaimRequest one = request;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const bool over = i > 0 && !claimed[i - 1].error && claimed[i - 1].what == Claimed::What::nothing;
    one.owner = owners[i];
    claimed[i] = over ? claimed[i - 1] : reply_of(claim(one, until));
  }
  return Status{};
}

Result<std::unique_ptr<JobEngine>> Store::jobs(Instant) {
  return Error{Errc::refused, name() + ": this store cannot keep jobs; use another one"};
}

}  // namespace holdfast
