// SPDX-License-Identifier: Apache-2.0
#include "stores/postgres/job_statements.h"

#include "core/job_rule.h"
#include "stores/postgres/compose.h"
#include "stores/postgres/sql/job_change.sql.h"
#include "stores/postgres/sql/job_claim.sql.h"
#include "stores/postgres/sql/job_enqueue.sql.h"
#include "stores/postgres/sql/job_finish.sql.h"
#include "stores/postgres/sql/job_heads.sql.h"
#include "stores/postgres/sql/job_hold.sql.h"
#include "stores/postgres/sql/job_list.sql.h"
#include "stores/postgres/sql/job_names.sql.h"
#include "stores/postgres/sql/job_next.sql.h"
#include "stores/postgres/sql/job_pick.sql.h"
#include "stores/postgres/sql/job_purge.sql.h"
#include "stores/postgres/sql/job_renew.sql.h"
#include "stores/postgres/sql/job_row.sql.h"
#include "stores/postgres/sql/job_spoil.sql.h"
#include "stores/postgres/sql/job_success.sql.h"
#include "stores/postgres/sql/job_tick.sql.h"
#include "stores/postgres/sql/job_ticks.sql.h"
#include "stores/postgres/sql/job_unpark.sql.h"
#include "stores/postgres/sql/job_unpark_rule.sql.h"
#include "stores/postgres/sql/job_untouched.sql.h"
#include "stores/postgres/sql/release_rule.sql.h"
#include "stores/postgres/statements.h"

namespace holdfast::postgres {
namespace {

// Of the job that job_hold.sql has locked, in the same transaction.
constexpr const char* held_id = "nullif(current_setting('holdfast.job', true), '')::bigint";

std::string interval(Millis length) { return "interval '" + std::to_string(length.count()) + "ms'"; }

Parts with(Parts parts, const Parts& more) {
  for (const auto& [word, text] : more) parts[word] = text;
  return parts;
}

Parts unpark(const std::string& key, const std::string& when, const std::string& then = "u.run_at") {
  return {{"unpark", part(job_unpark_rule_sql)}, {"key", key}, {"when", when}, {"then", then}};
}

// Of those that job_hold.sql and job_claim.sql share.
Parts claim_parts(const std::string& pick, const std::string& skip) {
  Parts parts = lease_rule("$5::text", "$6::bigint", "$7::bigint");
  parts["pick"] = pick;
  parts["queues"] = "$1::text[]";
  parts["heads"] = part(job_heads_sql);
  parts["names"] = part(job_names_sql);
  parts["untouched"] = part(job_untouched_sql);
  parts["skip"] = skip;
  parts["row"] = part(job_row_sql);
  parts["scout_pause"] = interval(core::scout_pause);
  parts["parked_pause"] = interval(core::parked_pause);
  // Behind one that has died its lock is free; behind one that waited and runs now, the next looks for it.
  return with(std::move(parts),
              unpark("(SELECT f.key FROM fate AS f)",
                     "EXISTS (SELECT FROM fate AS f WHERE (f.outcome = 'poisoned' AND f.lock "
                     "<> '') OR (f.outcome = 'running' AND f.parked))",
                     "CASE WHEN EXISTS (SELECT FROM fate AS f WHERE f.outcome = 'poisoned') "
                     "THEN u.run_at ELSE least(u.due_at, {now} + {scout_pause}) END"));
}

std::string one_picked(const std::string& id, const char* lock) {
  return "picked AS MATERIALIZED (\n  SELECT j.* FROM {jobs} AS j WHERE j.id = " + id + lock + "\n)";
}

std::string claim_text(bool careful) {
  Parts parts = claim_parts(careful ? one_picked(held_id, " AND $1::text[] IS NOT NULL") : part(job_pick_sql),
                            "$8::boolean");
  parts["careful"] = careful ? "true" : "false";
  parts["next"] = careful ? "NULL::bigint" : part(job_next_sql);
  return compose(job_claim_sql, parts);
}

// $1 queues  $2 void after  $3 patience  $4 skip
std::string hold_next_text() {
  Parts parts = claim_parts(part(job_pick_sql), "$4::boolean");
  return compose(job_hold_sql,
                 with(std::move(parts), {{"void_after", "$2::bigint"},
                                         {"patience", "$3::bigint"},
                                         {"release", part(release_rule_sql)},
                                         {"key", "p.lock"},
                                         {"holder", "p.holder"},
                                         {"token", "p.token"},
                                         {"from", "FROM picked AS p"},
                                         {"if",
                                          "p.state = 'running' AND p.lock <> '' AND (SELECT count(*) "
                                          "FROM held) IS NOT NULL AND (NOT {skip} OR p.lock IN (SELECT "
                                          "u.lock FROM untouched AS u))"}}));
}

// $1 id  $2 void after  $3 patience.  Nothing is given back: whoever works under the lock still does.
std::string hold_one_text() {
  const std::string picked = one_picked("$1::bigint", " AND (SELECT c.in_time FROM clock AS c) FOR UPDATE");
  Parts parts = claim_parts(picked, "false");
  return compose(job_hold_sql,
                 with(std::move(parts), {{"void_after", "$2::bigint"},
                                         {"patience", "$3::bigint"},
                                         {"release", "SELECT h.key FROM held AS h WHERE false"}}));
}

std::string finish_text() {
  return compose(job_finish_sql, {{"release", part(release_rule_sql)},
                                  {"key", "$7::text"},
                                  {"holder", "$2::text"},
                                  {"token", "$8::bigint"},
                                  {"from", ""},
                                  {"if", "$7::text <> '' AND (SELECT count(*) FROM mine) IS NOT NULL"}});
}

std::string change_text() {
  return compose(
      job_change_sql,
      with(unpark("(SELECT m.key FROM mine AS m)",
                  // Who would free the lock may never come; the next one looks for itself.
                  "EXISTS (SELECT FROM mine AS m WHERE (m.parked OR m.state = 'running') AND m.fits "
                  "AND m.id <> w.id)"),
           {{"row", part(job_row_sql)}}));
}

constexpr const char* any_key = "($2::text IS NULL OR j.key = $2::text)";

std::string list_text(const char* id, const char* key) {
  return compose(job_list_sql, {{"row", part(job_row_sql)}, {"id", id}, {"key", key}});
}

std::string unpark_text() {
  return compose(job_unpark_sql, unpark("nullif(current_setting('holdfast.key', true), '')", "true"));
}

}  // namespace

std::string enqueue_text(const Tables& tables) {
  return tables.expand(
      compose(job_enqueue_sql,
              with(unpark("$8::text",
                          "EXISTS (SELECT FROM enqueued AS e JOIN clock AS c ON e.run_at > c.now WHERE "
                          "e.replaced) AND w.id <> (SELECT e.id FROM enqueued AS e)"),
                   {{"replaces", "($12::text = 'replace' AND j.state = 'queued')"},
                    {"put_off", "excluded.run_at > (SELECT c.now FROM clock AS c)"}})));
}

JobStatements::JobStatements(const Tables& t)
    : enqueue(statement("enqueue", enqueue_text(t))),
      claim(statement("claim", t.expand(claim_text(false)))),
      finish(statement("finish", t.expand(finish_text()))),
      unpark(statement("unpark", t.expand(unpark_text()))),
      renew(statement("renew_claims", t.expand(job_renew_sql))),
      tick(statement("tick", t.expand(job_tick_sql))),
      success(statement("success", t.expand(job_success_sql))),
      hold_next(statement("hold_next", t.expand(hold_next_text()))),
      claim_held(statement("claim_held", t.expand(claim_text(true)))),
      spoil(statement("spoil", t.expand(compose(job_spoil_sql, {})))),
      hold_one(statement("hold_one", t.expand(hold_one_text()))),
      change(statement("change", t.expand(change_text()))),
      list(statement("list", t.expand(list_text("$1::bigint IS NULL", "$2::text IS NULL")))),
      list_id(statement("list_id", t.expand(list_text("j.id = $1::bigint", any_key)))),
      list_key(statement("list_key", t.expand(list_text("$1::bigint IS NULL", "j.key = $2::text")))),
      ticks(statement("ticks", t.expand(job_ticks_sql))),
      purge(statement("purge", t.expand(job_purge_sql))) {}

}  // namespace holdfast::postgres
