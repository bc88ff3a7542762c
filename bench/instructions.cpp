// SPDX-License-Identifier: Apache-2.0
// instructions.cpp - instructions of single operations, counted by callgrind: user space only, no kernel.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/url.h"
#include "bench/raw_sqlite.h"
#include "bench/seam.h"
#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

constexpr int batch = 100;
constexpr const char* url = "sqlite:/var/lib/holdfast/leases.db?table=nightly";

// What an operation needs, made when it is first asked for.
class Stage {
 public:
  Stage() { const Client maker = open("sqlite:" + path()); }

  std::string path() const { return folder_.path() + "/ours.db"; }
  Client& client() { return client_ ? *client_ : client_.emplace(open("sqlite:" + path())); }
  Client& in_memory() { return memory_ ? *memory_ : memory_.emplace(open("memory:")); }
  Seam& seam() { return seam_ ? *seam_ : seam_.emplace("sqlite:" + path()); }
  RawSqlite& raw() { return raw_ ? *raw_ : raw_.emplace(path(), RawSqlite::How::same_statements); }
  const Lease& lease() {
    if (!memory_) lease_ = in_memory().acquire("lease", {.keep = false});  // asking it would be counted
    return lease_;
  }
  Seam& batch_of_leases() {
    if (!seam_) {
      for (int i = 0; i < batch; ++i) seam().acquire("key" + std::to_string(i));
    }
    return seam();
  }
  const std::vector<RawSqlite::Held>& raw_leases() {
    for (int i = static_cast<int>(held_.size()); i < batch; ++i) {
      const std::string key = "key" + std::to_string(i);
      held_.push_back({key, raw().acquire(key, "somebody")});
    }
    return held_;
  }

 private:
  const test::Scratch folder_;
  std::optional<Client> client_, memory_;
  std::optional<Seam> seam_;
  std::optional<RawSqlite> raw_;
  Lease lease_;
  std::vector<RawSqlite::Held> held_;
};

// The optimiser must not see that nobody looks.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

struct Operation {
  const char* name;
  int times;
  void (*once)(Stage&);
};
const Operation operations[] = {
    {"client-pair", 300, [](Stage& s) { s.client().acquire("key").release(); }},
    {"store-pair", 300, [](Stage& s) { s.seam().acquire_and_release("key"); }},
    {"raw-pair", 300,
     [](Stage& s) { s.raw().acquire_and_release("key", "host:h pid:1 guid:0123456789abcdef0"); }},
    {"memory-pair", 300, [](Stage& s) { s.in_memory().acquire("key").release(); }},
    {"store-renewals", 30, [](Stage& s) { s.batch_of_leases().renew_all(); }},
    {"raw-renewals", 30, [](Stage& s) { s.raw().renew(s.raw_leases(), "somebody"); }},
    {"held", 10'000, [](Stage& s) { use(s.lease().held()); }},
    {"clock", 10'000, [](Stage&) { use(BootClock::now()); }},
    {"url", 1'000, [](Stage&) { use(parse_url(url)); }},
    {"copy", 1'000, [](Stage&) { use(std::string(url)); }},
};

const Operation& operation_named(const std::string& name) {
  for (const Operation& o : operations) {
    if (o.name == name) return o;
  }
  throw std::runtime_error("no operation is called " + name);
}

// The sum that callgrind prints when its program has ended.
double counted(const Effort& effort, const Operation& operation, int times) {
  const std::string command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null '" + effort.self +
                              "' --repeat " + operation.name + " --times " + std::to_string(times) + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 512> line;
  double instructions = 0;
  std::string all;
  while (pipe && fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    all += line.data();
    const std::string text = line.data();
    if (const auto at = text.find("Collected : "); at != std::string::npos)
      instructions = std::stod(text.substr(at + 12));
  }
  if (instructions <= 0) throw std::runtime_error("callgrind counted nothing:\n" + all);
  return instructions;
}

bool have_valgrind() { return std::system("valgrind --version > /dev/null 2>&1") == 0; }  // NOLINT

}  // namespace

void repeat_operation(const std::string& name, int times) {
  const Operation& operation = operation_named(name);
  Stage stage;
  for (int i = 0; i < times; ++i) operation.once(stage);
}

Report run_instructions(const Effort& effort) {
  if (!have_valgrind())
    throw std::runtime_error(
        "valgrind is missing, and instructions are counted by it: apt-get install valgrind");
  std::map<std::string, Series> found;
  for (const Operation& o : operations) {
    const int times = effort.quick ? std::max(1, o.times / 10) : o.times;
    const double once = counted(effort, o, times), twice = counted(effort, o, 2 * times);
    found[o.name] = {(twice - once) / times};
  }
  const auto of = [&](std::string what, const char* name, double share = 1) {
    Named named{std::move(what), found.at(name)};
    for (double& v : named.series) v /= share;
    return named;
  };
  const auto figure = [](const Named& ours, const Named& reference) {
    return compare(ours, reference, "instr.", Better::less);
  };
  const Named client = of("Client: acquire + release", "client-pair"),
              store = of("Store alone", "store-pair"), raw = of("the same statements by hand", "raw-pair"),
              memory = of("Client on memory:", "memory-pair"),
              renewal = of("one renewal of a batch of 100", "store-renewals", batch),
              raw_renewal = of("by hand", "raw-renewals", batch);
  BarChart chart{.title = "Instructions of an acquire and release",
                 .note = "user space, counted by callgrind; the kernel's are not among them",
                 .axis = "instructions",
                 .bars = {{client.name, spread_of(client.series), Role::ours},
                          {store.name, spread_of(store.series), Role::part_of_ours},
                          {raw.name, spread_of(raw.series), Role::reference},
                          {memory.name, spread_of(memory.series), Role::part_of_ours}}};
  return {
      .figures = {figure(client, raw), figure(store, raw), figure(memory, raw), figure(renewal, raw_renewal),
                  figure(of("held()", "held"), of("one read of the clock", "clock")),
                  figure(of("parse_url", "url"), of("copying the text", "copy"))},
      .charts = {{"instructions", std::move(chart)}}};
}

}  // namespace holdfast::bench
