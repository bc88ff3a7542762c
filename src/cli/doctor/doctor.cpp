// SPDX-License-Identifier: Apache-2.0
// doctor.cpp - `holdfast doctor`: what can break a lease in this store, and what to change.
#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/doctor/report.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/setup/store_url.h"
#include "holdfast/admin.h"

namespace holdfast::cli {
namespace {

constexpr int calls = 20, clock_samples = 8;
constexpr Millis clock_watch(2000);

// Whose lease on the doctor's key is renewed to see what the store says.
struct Patient {
  std::string owner = "doctor";
  Token token{1};  // nobody has that: nothing is changed
};

// Takes the way that renewals take.
Result<ClockSample> ask(StoreConnection& connection, const Patient& patient) {
  const Request renewal{.verb = Verb::renew,
                        .key = {doctors_key},
                        .owner = {patient.owner},
                        .token = patient.token,
                        .ttl = Millis(1000)};
  Reply reply;
  ClockSample sample{.sent = BootClock::now(), .received = {}, .store = {}};
  if (Status s = connection.apply({&renewal, 1}, {&reply, 1}, soon()); !s) return std::move(s).error();
  sample.received = BootClock::now();
  sample.store = Micros(static_cast<std::int64_t>(reply.now));
  return sample;
}

Status measure_way(StoreConnection& connection, Millis ttl, Report& report) {
  std::vector<Micros> trips;
  for (int i = 0; i < calls; ++i) {
    const auto sample = ask(connection, {});
    if (!sample) return sample.error();
    trips.push_back(std::chrono::ceil<Micros>(sample->received - sample->sent));
  }
  report.round_trips = round_trips_of(std::move(trips));
  report.ttl = ttl;
  report.add(judge(*report.round_trips, ttl));
  return Status{};
}

// Some stores tell the time only of a lease that is there.
Status watch_clock(StoreConnection& connection, const Patient& patient, Report& report) {
  const auto traits = connection.examine(soon());
  if (!traits) return traits.error();
  Wakeup wakeup;
  std::vector<ClockSample> samples;
  const Instant began = BootClock::now();
  for (int i = 0; i < clock_samples; ++i) {
    wakeup.wait(began + clock_watch * i / (clock_samples - 1));
    const auto sample = ask(connection, patient);
    if (!sample) return sample.error();
    samples.push_back(*sample);
  }
  report.clock_rate = clock_rate_of(samples, traits->resolution);
  report.clock_untold = !report.clock_rate;
  if (report.clock_rate) report.add(judge(*report.clock_rate));
  return Status{};
}

// Each client has its own way to the store.
Result<Client> new_client(const std::string& url) {
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  return Client::try_make(*std::move(store));
}

void learn_offset(Client& client, Moment before, Moment after, Report& report) {
  const auto row = client.try_look(doctors_key);
  if (!row || !row->since) return;
  report.clock_offset = clock_offset_of(before, *row->since, after);
  report.add(judge(*report.clock_offset));
}

// A doctor's own lease is short: who has it is mostly through soon.
constexpr Millis patience(5000);
constexpr const char* doctors_note = "holdfast doctor";

Finding left_out(Client& client, const Error& busy) {
  const std::string owner = printable(short_owner(busy.owner));
  const auto row = client.try_look(doctors_key);
  if (row && row->note == doctors_note)
    return {Weight::warning, "all.self-test",
            "the self-test was skipped: another doctor is running, " + owner,
            "run doctor again when that one has ended"};
  return {Weight::warning, "all.self-test",
          "the self-test was skipped: " + owner + " holds " + doctors_key + ", which only doctor should use",
          "look at it with `holdfast show " + std::string(doctors_key) +
              "`, and run doctor again when it is free"};
}

// Two doctors would take each other's keys for a slow store's.
Result<Lease> come_alone(Client& client, Report& report) {
  const Moment before = wall_now();
  auto alone = client.try_acquire(doctors_key, {.note = doctors_note});
  const Moment after = wall_now();
  if (alone) learn_offset(client, before, after, report);
  if (alone || !alone.error().busy()) return alone;
  auto later = client.try_acquire(doctors_key, {.wait = patience, .note = doctors_note});
  // The last look may be cut off by the end of our patience: the key was busy all the same.
  return later || later.error().busy() ? std::move(later) : std::move(alone);
}

Status try_out(const std::string& url, StoreConnection& connection, Report& report) {
  auto client = new_client(url);
  if (!client) return std::move(client).error();
  auto alone = come_alone(*client, report);
  if (!alone && alone.error().busy()) {
    report.add(left_out(*client, alone.error()));
    return watch_clock(connection, {}, report);
  }
  if (!alone) return std::move(alone).error();
  const Patient patient{std::string(alone->owner()), alone->token()};
  if (Status s = watch_clock(connection, patient, report); !s) return s;
  auto tested = test_leases([&] { return new_client(url); });
  if (!tested) return std::move(tested).error();
  report.self_test = *std::move(tested);
  report.add(judge(*report.self_test));
  return Status{};
}

// What is the same for every store, as far as the store lets us in.
Status look_closer(const std::shared_ptr<Store>& store, const Doctor& command, const Common& common,
                   Report& report) {
  const auto unused = is_unused(store);
  if (!unused) return unused.error();
  if (*unused) {
    report.add(Finding{Weight::note, "all.no-tables",
                       "not all tables exist yet: nothing was measured, because doctor creates no tables",
                       "create them with `" + init_command(common) +
                           "`; an SQLite file is also created when it is first used"});
    return Status{};
  }
  auto connection = store->connect(soon());
  if (!connection) return std::move(connection).error();
  if (Status s = measure_way(**connection, command.ttl, report); !s) return s;
  return command.quick ? watch_clock(**connection, {}, report) : try_out(common.store, **connection, report);
}

// Asked once more: what failed for a moment only does not keep everybody from leases.
bool still_fails(const std::shared_ptr<Store>& store, const Doctor& command, const std::string& url) {
  {
    auto connection = store->connect(soon());
    if (!connection || !ask(**connection, {})) return true;
  }  // who may have few connections needs this one
  if (command.quick) return false;
  auto client = new_client(url);
  if (!client) return true;
  const auto lease = client->try_acquire(doctors_key, {.note = doctors_note});
  return !lease && !lease.error().busy();
}

Finding implicit_store() {
  return {
      Weight::note, "all.implicit-store",
      "no store was given, so this is a file of this user on this host: leases, --tick and --every do not "
      "exclude other users or other hosts",
      "set HOLDFAST_STORE, or store = in the configuration; with require-store = true there, a missing "
      "store is an error"};
}

Result<Report> examine(const Doctor& command, const Common& common) {
  const std::string& url = common.store;
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  auto diagnosis = Admin(*store).try_diagnose();
  if (!diagnosis) return std::move(diagnosis).error();
  Report report{.store = (*store)->name(), .diagnosis = *std::move(diagnosis)};
  if (common.setup->store.implicit) report.add(implicit_store());
  if (Status s = look_closer(*store, command, common, report); !s) {
    const Error& error = s.error();
    report.add(exit_code(error.code) == exit_refused ? refused(report, error)
                                                     : unmeasured(error, still_fails(*store, command, url)));
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
