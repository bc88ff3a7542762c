// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/statements.h"

#include "stores/sqlite/sql/acquire.sql.h"
#include "stores/sqlite/sql/boot.sql.h"
#include "stores/sqlite/sql/drop_places.sql.h"
#include "stores/sqlite/sql/erase_job.sql.h"
#include "stores/sqlite/sql/evict.sql.h"
#include "stores/sqlite/sql/find_jobs.sql.h"
#include "stores/sqlite/sql/find_jobs_of_key.sql.h"
#include "stores/sqlite/sql/grant.sql.h"
#include "stores/sqlite/sql/history.sql.h"
#include "stores/sqlite/sql/insert_job.sql.h"
#include "stores/sqlite/sql/job.sql.h"
#include "stores/sqlite/sql/job_claim_end.sql.h"
#include "stores/sqlite/sql/job_due.sql.h"
#include "stores/sqlite/sql/job_in_slot.sql.h"
#include "stores/sqlite/sql/job_parked_until.sql.h"
#include "stores/sqlite/sql/job_put_off.sql.h"
#include "stores/sqlite/sql/jobs_parked.sql.h"
#include "stores/sqlite/sql/jobs_put_off.sql.h"
#include "stores/sqlite/sql/keep_place.sql.h"
#include "stores/sqlite/sql/leases.sql.h"
#include "stores/sqlite/sql/leave.sql.h"
#include "stores/sqlite/sql/log.sql.h"
#include "stores/sqlite/sql/lookup.sql.h"
#include "stores/sqlite/sql/mentions.sql.h"
#include "stores/sqlite/sql/note_client.sql.h"
#include "stores/sqlite/sql/note_facts.sql.h"
#include "stores/sqlite/sql/note_purged.sql.h"
#include "stores/sqlite/sql/note_swept.sql.h"
#include "stores/sqlite/sql/objects.sql.h"
#include "stores/sqlite/sql/page.sql.h"
#include "stores/sqlite/sql/places.sql.h"
#include "stores/sqlite/sql/purge_facts.sql.h"
#include "stores/sqlite/sql/purge_jobs.sql.h"
#include "stores/sqlite/sql/purge_keys.sql.h"
#include "stores/sqlite/sql/purge_log.sql.h"
#include "stores/sqlite/sql/purge_places.sql.h"
#include "stores/sqlite/sql/purge_ticks.sql.h"
#include "stores/sqlite/sql/purged_token.sql.h"
#include "stores/sqlite/sql/put_tick.sql.h"
#include "stores/sqlite/sql/queue.sql.h"
#include "stores/sqlite/sql/release.sql.h"
#include "stores/sqlite/sql/renew.sql.h"
#include "stores/sqlite/sql/restart.sql.h"
#include "stores/sqlite/sql/swept.sql.h"
#include "stores/sqlite/sql/tick.sql.h"
#include "stores/sqlite/sql/trim_log.sql.h"
#include "stores/sqlite/sql/update_job.sql.h"
#include "stores/sqlite/sql/want_write.sql.h"

namespace holdfast::sqlite {

std::string_view text(Sql statement) noexcept {
  switch (statement) {
    case Sql::begin: return "BEGIN IMMEDIATE";
    case Sql::begin_reading: return "BEGIN";
    case Sql::commit: return "COMMIT";
    case Sql::rollback: return "ROLLBACK";
    case Sql::acquire: return acquire_sql;
    case Sql::renew: return renew_sql;
    case Sql::release: return release_sql;
    case Sql::look: return lookup_sql;
    case Sql::grant: return grant_sql;
    case Sql::restart: return restart_sql;
    case Sql::evict: return evict_sql;
    case Sql::note_facts: return note_facts_sql;
    case Sql::note_client: return note_client_sql;
    case Sql::log: return log_sql;
    case Sql::queue: return queue_sql;
    case Sql::drop_places: return drop_places_sql;
    case Sql::keep_place: return keep_place_sql;
    case Sql::leave: return leave_sql;
    case Sql::leases: return leases_sql;
    case Sql::places: return places_sql;
    case Sql::history: return history_sql;
    case Sql::boot: return boot_sql;
    case Sql::mentions: return mentions_sql;
    case Sql::objects: return objects_sql;
    case Sql::part: return page_sql;
    case Sql::purge_places: return purge_places_sql;
    case Sql::purge_keys: return purge_keys_sql;
    case Sql::purge_facts: return purge_facts_sql;
    case Sql::purge_log: return purge_log_sql;
    case Sql::purged_token: return purged_token_sql;
    case Sql::note_purged: return note_purged_sql;
    case Sql::trim_log: return trim_log_sql;
    case Sql::swept: return swept_sql;
    case Sql::note_swept: return note_swept_sql;
    case Sql::job: return job_sql;
    case Sql::job_in_slot: return job_in_slot_sql;
    case Sql::job_due: return job_due_sql;
    case Sql::job_put_off: return job_put_off_sql;
    case Sql::jobs_put_off: return jobs_put_off_sql;
    case Sql::job_claim_end: return job_claim_end_sql;
    case Sql::jobs_parked: return jobs_parked_sql;
    case Sql::job_parked_until: return job_parked_until_sql;
    case Sql::insert_job: return insert_job_sql;
    case Sql::update_job: return update_job_sql;
    case Sql::erase_job: return erase_job_sql;
    case Sql::find_jobs: return find_jobs_sql;
    case Sql::find_jobs_of_key: return find_jobs_of_key_sql;
    case Sql::purge_jobs: return purge_jobs_sql;
    case Sql::tick: return tick_sql;
    case Sql::put_tick: return put_tick_sql;
    case Sql::purge_ticks: return purge_ticks_sql;
    case Sql::want_write: return want_write_sql;
  }
  return {};
}

}  // namespace holdfast::sqlite
