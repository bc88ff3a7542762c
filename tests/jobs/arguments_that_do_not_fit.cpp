// SPDX-License-Identifier: Apache-2.0
// Arguments that a job cannot have: a test compiles each one, and the error must say why.
#include <string>

#include "holdfast/jobs.h"

struct Repository {
  int id = 0;
};

#ifdef AN_OBJECT
struct Update {
  static constexpr std::string_view name = "Update";
  static std::string identifier(const Repository& repository) { return std::to_string(repository.id); }
  void perform(holdfast::JobContext&, const Repository&) {}
};
void enqueue(const holdfast::Jobs& jobs) { (void)jobs.perform_later<Update>(Repository{1}); }
#endif

#ifdef TOO_FEW
struct Update {
  static constexpr std::string_view name = "Update";
  void perform(holdfast::JobContext&, int, int = 1) {}
};
void enqueue(const holdfast::Jobs& jobs) { (void)jobs.perform_later<Update>(1); }
#endif
