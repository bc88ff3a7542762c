// SPDX-License-Identifier: Apache-2.0
// doctor.cpp - `holdfast doctor`: what can break a lease in this store, and what to change.
#include <algorithm>

#include "base/text.h"
#include "base/wakeup.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/doctor/report.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/setup/store_url.h"
#include "holdfast/operate.h"

namespace holdfast::cli {
namespace {

constexpr int calls = 20, clock_samples = 8;
constexpr Millis clock_watch(2000);

// Whose lease on the doctor's key is renewed to see what the store says.
struct Patient {
  std::string holder = "doctor";
  Token token{1};  // nobody has that: nothing is changed
};

// Takes the way that renewals take.
Result<ClockSample> ask(Store& store, const Patient& patient) {
  const Request renewal{.verb = Verb::renew,
                        .key = {doctors_key},
                        .holder = {patient.holder},
                        .token = patient.token,
                        .ttl = Millis(1000)};
  Reply reply;
  ClockSample sample{.sent = BootClock::now(), .received = {}, .store = {}};
  if (Status s = store.apply({&renewal, 1}, {&reply, 1}, soon()); !s) return std::move(s).error();
  sample.received = BootClock::now();
  sample.store = Micros(static_cast<std::int64_t>(reply.now));
  return sample;
}

Status measure_way(Store& store, Millis ttl, Report& report) {
  std::vector<Micros> trips;
  for (int i = 0; i < calls; ++i) {
    const auto sample = ask(store, {});
    if (!sample) return sample.error();
    trips.push_back(std::chrono::ceil<Micros>(sample->received - sample->sent));
  }
  report.round_trips = round_trips_of(std::move(trips));
  report.ttl = ttl;
  report.add(judge(*report.round_trips, ttl));
  return ok();
}

// Some stores tell the time only of a lease that is there.
Status watch_clock(Store& store, const Patient& patient, Report& report) {
  const auto traits = store.examine(soon());
  if (!traits) return traits.error();
  Wakeup wakeup;
  std::vector<ClockSample> samples;
  const Instant began = BootClock::now();
  for (int i = 0; i < clock_samples; ++i) {
    wakeup.wait(began + clock_watch * i / (clock_samples - 1));
    const auto sample = ask(store, patient);
    if (!sample) return sample.error();
    samples.push_back(*sample);
  }
  report.clock_rate = clock_rate_of(samples, traits->resolution);
  report.clock_untold = !report.clock_rate;
  if (report.clock_rate) report.add(judge(*report.clock_rate));
  return ok();
}

// Each client has its own way to the store.
Result<Client> new_client(const std::string& url) {
  auto origin = try_origin(url);
  if (!origin) return std::move(origin).error();
  return Client::try_make(*std::move(origin));
}

void learn_offset(Client& client, Micros before, Micros after, Report& report) {
  const auto row = client.try_look(doctors_key);
  if (!row || row->since == Micros::zero()) return;
  report.clock_offset = clock_offset_of(before, row->since, after);
  report.add(judge(*report.clock_offset));
}

// A doctor's own lease is short: who has it is mostly through soon.
constexpr Millis patience(5000);
constexpr const char* doctors_note = "holdfast doctor";

Finding left_out(Client& client, const Error& busy) {
  const std::string holder = printable(short_holder(busy.holder));
  const auto row = client.try_look(doctors_key);
  if (row && row->note == doctors_note)
    return {Weight::warning, "all.self-test",
            "another doctor is at it, " + holder + ": the self-test was left out",
            "try again when it is through"};
  return {Weight::warning, "all.self-test",
          holder + " holds " + doctors_key + ", which only doctors take: the self-test was left out",
          "holdfast show " + std::string(doctors_key) + ", and try again when it is free"};
}

// Two doctors would take each other's keys for a slow store's.
Result<Lease> come_alone(Client& client, Report& report) {
  const Micros before = wall_now();
  auto alone = client.try_acquire(doctors_key, {.note = doctors_note});
  const Micros after = wall_now();
  if (alone) learn_offset(client, before, after, report);
  if (alone || !alone.error().busy()) return alone;
  auto later = client.try_acquire(doctors_key, {.wait = patience, .note = doctors_note});
  // The last look may be cut off by the end of our patience: the key was busy all the same.
  return later || later.error().busy() ? std::move(later) : std::move(alone);
}

Status try_out(const std::string& url, Store& store, Report& report) {
  auto client = new_client(url);
  if (!client) return std::move(client).error();
  auto alone = come_alone(*client, report);
  if (!alone && alone.error().busy()) {
    report.add(left_out(*client, alone.error()));
    return watch_clock(store, {}, report);
  }
  if (!alone) return std::move(alone).error();
  const Patient patient{std::string(alone->owner()), alone->token()};
  if (Status s = watch_clock(store, patient, report); !s) return s;
  auto tested = test_leases([&] { return new_client(url); });
  if (!tested) return std::move(tested).error();
  report.self_test = *std::move(tested);
  report.add(judge(*report.self_test));
  return ok();
}

// What is the same for every store, as far as the store lets us in.
Status look_closer(const std::shared_ptr<Origin>& origin, const Doctor& command, const std::string& url,
                   Report& report) {
  const auto unused = is_unused(origin);
  if (!unused) return unused.error();
  if (*unused) {
    report.add(Finding{Weight::note, "all.no-tables",
                       "its tables are not all there: there is nothing to measure, and looking makes nothing",
                       "holdfast init, or the first who uses it"});
    return ok();
  }
  auto store = origin->connect(soon());
  if (!store) return std::move(store).error();
  if (Status s = measure_way(**store, command.ttl, report); !s) return s;
  return command.quick ? watch_clock(**store, {}, report) : try_out(url, **store, report);
}

// Asked once more: what failed for a moment only does not keep everybody from leases.
bool still_fails(const std::shared_ptr<Origin>& origin, const Doctor& command, const std::string& url) {
  {
    auto store = origin->connect(soon());
    if (!store || !ask(**store, {})) return true;
  }  // who may have few connections needs this one
  if (command.quick) return false;
  auto client = new_client(url);
  if (!client) return true;
  const auto lease = client->try_acquire(doctors_key, {.note = doctors_note});
  return !lease && !lease.error().busy();
}

Finding implicit_store() {
  return {Weight::note, "all.implicit-store",
          "no store is given, so this is the user's own file on this host: leases, --tick and --every keep "
          "nobody else away",
          "HOLDFAST_STORE or the configuration says which; require-store = true there refuses to do without"};
}

Result<Report> examine(const Doctor& command, const Common& common) {
  const std::string& url = common.store;
  auto origin = try_origin(url);
  if (!origin) return std::move(origin).error();
  auto diagnosis = Operator(*origin).try_diagnose();
  if (!diagnosis) return std::move(diagnosis).error();
  Report report{.store = (*origin)->name(), .diagnosis = *std::move(diagnosis)};
  if (common.setup->store.implicit) report.add(implicit_store());
  if (Status s = look_closer(*origin, command, url, report); !s) {
    const Error& error = s.error();
    report.add(exit_code(error.code) == exit_refused ? refused(report, error)
                                                     : unmeasured(error, still_fails(*origin, command, url)));
  }
  settle(report);
  return report;
}

}  // namespace

int execute(const Doctor& command, const Common& common) {
  const auto report = examine(command, common);
  if (!report) return fail(report.error());
  if (common.json) {
    for (const std::string& line : json_of(*report, command.strict)) say(line);
  } else {
    say(words_of(*report, command.strict, wants_colour(stdout)));
  }
  return exit_code_of(*report, command.strict);
}

}  // namespace holdfast::cli
