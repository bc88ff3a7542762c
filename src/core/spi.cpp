// SPDX-License-Identifier: Apache-2.0
// The names of the enums that stores use, and what a store inherits if it does not override it.
#include "holdfast/rows.h"
#include "holdfast/spi/job_engine.h"
#include "holdfast/spi/store.h"

namespace holdfast {

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

Result<std::unique_ptr<JobEngine>> Store::jobs(Instant) {
  return Error{Errc::refused, name() + ": this store cannot keep jobs; use another one"};
}

}  // namespace holdfast
