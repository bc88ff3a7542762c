// SPDX-License-Identifier: Apache-2.0
// What happens between processes: handing over, taking over, and the cost of the command.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "bench/workload.h"
#include "holdfast/holdfast.h"
#include "tests/support/await.h"
#include "tests/support/scratch.h"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

// One number that two processes see.
class SharedInstant {
 public:
  SharedInstant() {
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap failed");
    value_ = new (page) std::atomic<Instant::rep>(0);
  }
  void set() { *value_ = BootClock::now().time_since_epoch().count(); }
  bool is_set() const { return *value_ != 0; }
  double micros() const { return static_cast<double>(value_->load()) / 1e3; }

 private:
  std::atomic<Instant::rep>* value_;
};

double micros(Instant t) { return static_cast<double>(t.time_since_epoch().count()) / 1e3; }

template <class F>
pid_t in_child(F work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}

// The child waits for the key; the parent learns when it is in the queue, frees it, and reads when it held.
double one_hand_over(const std::string& url) {
  SharedInstant held;
  const pid_t child = in_child([&] {
    const Lease lease = open(url).acquire("key", {.wait = 30s});
    held.set();
  });
  Client client = open(url);
  Operator by_hand(client);
  Lease lease = client.acquire("key", {.wait = 30s});
  if (held.is_set()) return -1;  // the child was first: nobody waited
  test::await([&] { return !by_hand.list({.what = Query::What::places, .prefix = "key"}).places.empty(); });
  test::let_pass(5ms);  // until it sleeps
  const Instant freed = BootClock::now();
  lease.release();
  waitpid(child, nullptr, 0);
  return held.micros() - micros(freed);
}

double one_take_over(const std::string& url) {
  SharedInstant ready;
  const pid_t holder = in_child([&] {
    const Lease lease = open(url).acquire("key", {.ttl = 30s, .wait = 30s});
    ready.set();
    pause();
  });
  test::await([&] { return ready.is_set(); });
  SharedInstant held;
  const pid_t waiter = in_child([&] {
    const Lease lease = open(url).acquire("key", {.wait = 60s});
    held.set();
  });
  {
    Operator by_hand(try_origin(url).value());
    test::await([&] { return !by_hand.list({.what = Query::What::places, .prefix = "key"}).places.empty(); });
  }
  test::let_pass(5ms);
  const Instant killed = BootClock::now();
  kill(holder, SIGKILL);
  waitpid(waiter, nullptr, 0);
  waitpid(holder, nullptr, 0);
  return held.micros() - micros(killed);
}

// A byte from one process to another through a FIFO and no more.
double one_fifo_round(const std::string& path) {
  mkfifo(path.c_str(), 0600);
  SharedInstant heard;
  const pid_t child = in_child([&] {
    const int fd = ::open(path.c_str(), O_RDONLY);
    char byte = 0;
    if (read(fd, &byte, 1) == 1) heard.set();
  });
  const int fd = ::open(path.c_str(), O_WRONLY);
  test::let_pass(5ms);
  const Instant sent = BootClock::now();
  const bool written = write(fd, "k", 1) == 1;
  waitpid(child, nullptr, 0);
  close(fd);
  unlink(path.c_str());
  return written ? heard.micros() - micros(sent) : -1;
}

template <class F>
std::vector<double> repeated(int times, F once) {
  std::vector<double> values;
  while (times-- > 0) {
    if (const double value = once(); value >= 0) values.push_back(value);
  }
  return values;
}

double run_once(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const Instant start = BootClock::now();
  pid_t child = 0;
  if (posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0)
    throw std::runtime_error("cannot run " + words[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(words[0] + " failed");
  return seconds_since(start) * 1e6;
}

std::string own_folder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return self.substr(0, self.rfind('/'));
}

}  // namespace

std::vector<Figure> run_hand_over() {
  const test::Scratch folder;
  const std::string url = "sqlite:" + folder.path() + "/ours.db";
  const auto ours = repeated(41, [&] { return one_hand_over(url); });
  const auto bare = repeated(41, [&] { return one_fifo_round(folder.path() + "/fifo"); });
  return {{"release to holding, median", "a byte through a FIFO", median(ours), median(bare), "us", false}};
}

std::vector<Figure> run_take_over() {
  const test::Scratch folder;
  const std::string url = "sqlite:" + folder.path() + "/ours.db";
  const auto ours = repeated(21, [&] { return one_take_over(url); });
  return {{"kill -9 to holding, median", "", median(ours), 0, "us", false},
          {"kill -9 to holding, worst", "", *std::max_element(ours.begin(), ours.end()), 0, "us", false}};
}

std::vector<Figure> run_command() {
  const test::Scratch folder;
  const std::string holdfast = own_folder() + "/holdfast";
  const std::string store = "sqlite:" + folder.path() + "/ours.db";
  std::vector<double> ours, flocked, bare;
  for (int i = 0; i < 101; ++i) {
    ours.push_back(run_once({holdfast, "--store", store, "run", "k", "--", "true"}));
    flocked.push_back(run_once({"flock", folder.path() + "/f", "true"}));
    bare.push_back(run_once({"true"}));
  }
  return {{"holdfast run k -- true", "flock f true", median(ours), median(flocked), "us", false},
          {"holdfast run k -- true", "true", median(ours), median(bare), "us", false}};
}

}  // namespace holdfast::bench
