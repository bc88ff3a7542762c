// SPDX-License-Identifier: Apache-2.0
// doctor.cpp - `holdfast doctor`: what can break a lease in this store, and what to change.
#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "base/wakeup.h"
#include "cli/commands.h"
#include "cli/doctor/report.h"
#include "cli/json.h"
#include "cli/open_store.h"
#include "cli/output.h"
#include "cli/setup/store_url.h"
#include "cli/words/values.h"
#include "holdfast/admin.h"
#include "holdfast/spi/descriptor.h"

namespace holdfast::cli {
namespace {

constexpr OptionSpec doctor_options[] = {
    {"--quick", "", "skip the self-test, which acquires and releases scratch keys"},
    {"--show-sql", "", "only print the statements that decide about leases and jobs there"},
    {"--strict", "", "treat a warning like a danger: exit 77"},
    {"--ttl", "DURATION", "judge the round trips for leases with this ttl (default: 30s)"},
};
// The self-test is the default.
constexpr Instead instead_of_quick[] = {{"--selftest", "doctor without --quick"},
                                        {"--self-test", "doctor without --quick"}};

struct Doctor {
  bool quick = false;     // without the self-test
  bool show_sql = false;  // and nothing else
  bool strict = false;    // a warning is as bad as a danger
  Millis ttl{};           // that the round trips are judged by
};

Doctor doctor_of(const Given& given) {
  return {given.flag("--quick"), given.flag("--show-sql"), given.flag("--strict"),
          ttl_of("--ttl", given.text("--ttl"))};
}

constexpr int calls = 20, clock_samples = 8;
constexpr Millis clock_watch(2000);

// The lease on the doctor's key that the probes renew.
struct ProbeLease {
  std::string owner = "doctor";
  Token token{1};  // no lease has this token, so nothing is changed
};

// Sends a renewal and measures it.
Result<ClockSample> probe(StoreConnection& connection, const ProbeLease& lease) {
  const Request renewal{.verb = Verb::renew,
                        .key = {doctors_key},
                        .owner = {lease.owner},
                        .token = lease.token,
                        .ttl = Millis(1000)};
  Reply reply;
  ClockSample sample{.sent = BootClock::now(), .received = {}, .store = {}};
  if (Status s = connection.apply({&renewal, 1}, {&reply, 1}, soon()); !s) return std::move(s).error();
  sample.received = BootClock::now();
  sample.store = Micros(static_cast<std::int64_t>(reply.now));
  return sample;
}

Status measure_round_trips(StoreConnection& connection, Millis ttl, Report& report) {
  std::vector<Micros> trips;
  for (int i = 0; i < calls; ++i) {
    const auto sample = probe(connection, {});
    if (!sample) return sample.error();
    trips.push_back(std::chrono::ceil<Micros>(sample->received - sample->sent));
  }
  report.round_trips = round_trips_of(std::move(trips));
  report.ttl = ttl;
  report.add(judge(*report.round_trips, ttl));
  return Status{};
}

// Some stores report their time only for a lease that exists.
Status measure_clock(StoreConnection& connection, const ProbeLease& lease, Report& report) {
  const auto traits = connection.examine(soon());
  if (!traits) return traits.error();
  Wakeup wakeup;
  std::vector<ClockSample> samples;
  const Instant began = BootClock::now();
  for (int i = 0; i < clock_samples; ++i) {
    wakeup.wait(began + clock_watch * i / (clock_samples - 1));
    const auto sample = probe(connection, lease);
    if (!sample) return sample.error();
    samples.push_back(*sample);
  }
  report.clock_rate = clock_rate_of(samples, traits->resolution);
  report.clock_unknown = !report.clock_rate;
  if (report.clock_rate) report.add(judge(*report.clock_rate));
  return Status{};
}

// Each client has its own connections.
Result<Client> new_client(const std::string& url) {
  auto store = try_store(url);
  if (!store) return std::move(store).error();
  return Client::try_make(*std::move(store));
}

void measure_offset(Client& client, Moment before, Moment after, Report& report) {
  const auto row = client.try_read(doctors_key);
  if (!row || !row->since) return;
  report.clock_offset = clock_offset_of(before, *row->since, after);
  report.add(judge(*report.clock_offset));
}

// Another doctor is mostly done by then.
constexpr Millis patience(5000);
constexpr const char* doctors_note = "holdfast doctor";

Finding self_test_skipped(Client& client, const Error& busy) {
  const std::string owner = printable(short_owner(busy.owner));
  const auto row = client.try_read(doctors_key);
  if (row && row->note == doctors_note)
    return {Severity::warning, "all.self-test",
            "the self-test was skipped: another doctor is running, " + owner,
            "run doctor again when that one has ended"};
  return {Severity::warning, "all.self-test",
          "the self-test was skipped: " + owner + " holds " + doctors_key + ", which only doctor should use",
          "look at it with `holdfast show " + std::string(doctors_key) +
              "`, and run doctor again when it is free"};
}

// Only one doctor runs the self-test: two would wait for each other's keys, and the store would seem slow.
Result<Lease> acquire_doctors_key(Client& client, Report& report) {
  const Moment before = wall_now();
  auto lease = client.try_acquire(doctors_key, {.note = doctors_note});
  const Moment after = wall_now();
  if (lease) measure_offset(client, before, after, report);
  if (lease || !lease.error().busy()) return lease;
  auto later = client.try_acquire(doctors_key, {.wait = patience, .note = doctors_note});
  // The last attempt may have timed out without a reply; the key was busy all the same.
  return later || later.error().busy() ? std::move(later) : std::move(lease);
}

Status run_self_test(const std::string& url, StoreConnection& connection, Report& report) {
  auto client = new_client(url);
  if (!client) return std::move(client).error();
  auto lease = acquire_doctors_key(*client, report);
  if (!lease && lease.error().busy()) {
    report.add(self_test_skipped(*client, lease.error()));
    return measure_clock(connection, {}, report);
  }
  if (!lease) return std::move(lease).error();
  const ProbeLease own{std::string(lease->owner()), lease->token()};
  if (Status s = measure_clock(connection, own, report); !s) return s;
  auto tested = test_leases([&] { return new_client(url); });
  if (!tested) return std::move(tested).error();
  report.self_test = *std::move(tested);
  report.add(judge(*report.self_test));
  return Status{};
}

bool makes_its_tables(const Store& store) {
  const StoreDescriptor* const known = descriptor_of(store.name());
  return known != nullptr && known->tables == StoreTables::at_first_use;
}

// The measurements that are the same for every store.
Status measure(const std::shared_ptr<Store>& store, const Doctor& command, const Common& common,
               Report& report) {
  const auto unused = is_unused(store);
  if (!unused) return unused.error();
  if (*unused) {
    report.add(Finding{Severity::note, "all.no-tables",
                       "not all tables exist yet: nothing was measured, because doctor creates no tables",
                       "create them with `" + init_command(common) + "`" +
                           (makes_its_tables(*store) ? "; they are also created at the first use" : "")});
    return Status{};
  }
  auto connection = store->connect(soon());
  if (!connection) return std::move(connection).error();
  if (Status s = measure_round_trips(**connection, command.ttl, report); !s) return s;
  return command.quick ? measure_clock(**connection, {}, report)
                       : run_self_test(common.store, **connection, report);
}

// Tries once more: a failure that has passed does not keep anybody from acquiring leases.
bool still_fails(const std::shared_ptr<Store>& store, const Doctor& command, const std::string& url) {
  {
    auto connection = store->connect(soon());
    if (!connection || !probe(**connection, {})) return true;
  }  // close it: the limit of connections may be small
  if (command.quick) return false;
  auto client = new_client(url);
  if (!client) return true;
  const auto lease = client->try_acquire(doctors_key, {.note = doctors_note});
  return !lease && !lease.error().busy();
}

Finding implicit_store() {
  return {
      Severity::note, "all.implicit-store",
      "no store was given: this is a file of this user on this host, so leases, --tick and --every do not "
      "exclude other users and hosts",
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
  if (Status s = measure(*store, command, common, report); !s) {
    const Error& error = s.error();
    report.add(exit_code(error.code) == exit_refused ? refused(report, error)
                                                     : unmeasured(error, still_fails(*store, command, url)));
  }
  settle(report);
  return report;
}

int show_sql(const Common& common) {
  auto store = try_store(common.store);
  if (!store) return fail(store.error());
  const std::string text = Admin(*store).statements();
  if (text.empty())
    complain(printable(without_secrets((*store)->name())) + " has no statements: it decides in this program");
  print(common.json ? json_of_texts({{"statements", text}}) : text);
  return exit_ok;
}

int execute(const Doctor& command, const Common& common) {
  if (command.show_sql) return show_sql(common);
  const auto report = examine(command, common);
  if (!report) return fail(report.error());
  if (common.json) {
    for (const std::string& line : json_of(*report, command.strict)) print(line);
  } else {
    print(words_of(*report, command.strict, wants_colour(stdout)));
  }
  return exit_code_of(*report, command.strict);
}

}  // namespace

constinit const CommandSpec commands::doctor{
    .name = "doctor",
    .usage = "[OPTION]...",
    .purpose = "Show what can break a lease in this store, and what to change",
    .options = doctor_options,
    .more = R"(Exit code: 0 all is well, 1 warnings, 77 unsafe, 69 the store cannot be reached.

  holdfast doctor
  holdfast --store prod doctor --strict
  holdfast --store prod doctor --show-sql | less)",
    .read = reads<doctor_of>,
    .instead = instead_of_quick,
};

}  // namespace holdfast::cli
