// SPDX-License-Identifier: Apache-2.0
// Several statements in one transaction of ours.
#include "stores/postgres/connection.h"

namespace holdfast::postgres {
namespace {

// Each statement has to see what was committed before it, whatever the role's default is.
constexpr const char* begin = "BEGIN ISOLATION LEVEL READ COMMITTED";

std::vector<Answer> only(Answer answer) {
  std::vector<Answer> answers;
  answers.push_back(std::move(answer));
  return answers;
}

}  // namespace

std::vector<Answer> Connection::run(std::span<const Step> steps, Instant until) {
  const auto run_all = [&] {
    return PQenterPipelineMode == nullptr ? run_in_turn(steps, until) : run_pipelined(steps, until);
  };
  // Before the transaction: a failure in it would end it.
  for (const Step& step : steps) {
    if (auto trouble = prepare(step.statement, step.times, until)) return only(Answer(*std::move(trouble)));
  }
  std::vector<Answer> answers = run_all();
  const auto& trouble = answers.back().trouble();
  if (!trouble || trouble->state != "26000") return answers;
  stop_preparing();  // another server than the one we prepared it on
  return run_all();
}

// BEGIN, the steps, SYNC, COMMIT, SYNC: where a step fails all up to the first SYNC is passed over, and the
// COMMIT is a rollback.
std::vector<Answer> Connection::run_pipelined(std::span<const Step> steps, Instant until) {
  require_idle();
  PGconn* const to = connection_.get();
  const auto tell = [&](const char* sql) {
    return PQsendQueryParams(to, sql, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  };
  bool sent = PQenterPipelineMode(to) == 1 && tell(begin);
  for (const Step& step : steps) sent = sent && send(step.statement, step.times, step.parameters);
  sent = sent && PQpipelineSync(to) == 1 && tell("COMMIT") && PQpipelineSync(to) == 1;
  if (!sent) lost(Errc::in_doubt);
  flush(until);

  std::vector<Answer> answers;
  std::optional<Trouble> trouble;
  for (int syncs = 0; syncs < 2;) {
    OwnedResult result = next_result(until);
    if (!result) {  // between two statements; or, once the connection is lost, for ever
      if (PQstatus(to) != CONNECTION_OK) lost(Errc::in_doubt);
      continue;
    }
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) ++syncs;
    if (auto found = trouble_in(result.get()); found && !trouble && status != PGRES_PIPELINE_ABORTED)
      trouble = std::move(found);
    if (trouble) require_true(trouble);
    if (status == PGRES_TUPLES_OK) answers.emplace_back(std::move(result));
  }
  if (PQexitPipelineMode(to) != 1) lost(Errc::in_doubt);
  require_true(trouble);
  if (trouble) answers.emplace_back(*std::move(trouble));
  return answers;
}

std::vector<Answer> Connection::run_in_turn(std::span<const Step> steps, Instant until) {
  Parameters none;
  if (Answer begun = run(begin, none, until); begun.trouble()) return only(std::move(begun));
  std::vector<Answer> answers;
  for (const Step& step : steps) {
    require_idle();
    answers.push_back(finish(send(step.statement, step.times, step.parameters), until));
    if (!answers.back().trouble()) continue;
    (void)run("ROLLBACK", none, until);
    return answers;
  }
  if (Answer done = run("COMMIT", none, until); done.trouble()) answers.push_back(std::move(done));
  return answers;
}

}  // namespace holdfast::postgres
