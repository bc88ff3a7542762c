// SPDX-License-Identifier: Apache-2.0
// statements.h - every statement we run, by the name of its file in sql/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::sqlite {

enum class Sql : std::uint8_t {
  begin,
  begin_reading,
  commit,
  rollback,
  acquire,
  renew,
  release,
  look,
  grant,
  restart,
  evict,
  note_facts,
  note_client,
  log,
  queue,
  drop_places,
  keep_place,
  leave,
  leases,
  places,
  history,
  boot,
  mentions,
  objects,
  part,
  purge_places,
  purge_keys,
  purge_facts,
  purge_log,
  purged_token,
  note_purged,
  trim_log,
  swept,
  note_swept,
  // -- of jobs
  job,
  job_in_slot,
  job_due,
  job_put_off,
  jobs_put_off,
  job_claim_end,
  jobs_parked,
  job_parked_until,
  insert_job,
  update_job,
  erase_job,
  find_jobs,
  find_jobs_of_key,
  purge_jobs,
  tick,
  put_tick,
  purge_ticks,
  want_write,
};
inline constexpr std::size_t sql_count = static_cast<std::size_t>(Sql::want_write) + 1;

std::string_view text(Sql statement) noexcept;

}  // namespace holdfast::sqlite
