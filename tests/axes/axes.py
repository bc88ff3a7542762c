# SPDX-License-Identifier: Apache-2.0
"""Which tests run on which stores in `./dev test`. This file is data; choice.py reads it and check.py proves it.

Two axes:

connection   What a connection does: the contract, its statements, faults, the driver's errors. Tested on every store, against
             the real server.
above        What the client, the jobs and the command do above that seam. The same code runs whatever the store is, so all of it
             runs on memory and SQLite. A chosen set that touches the wire runs on PostgreSQL and Redis as well: waiting and
             being notified, faults and doubt, keeping, listing, claims and retries. A smoke set of about a dozen cases for
             the client, the jobs and the command runs on every store.

A combination that is not chosen is registered all the same, with the label `soak`: `./dev soak stores` runs it.
"""

ALL = "*"

# As tests/support/databases.cpp names them. A parameter that is not among them is no store: such cases always run.
STORES = ["memory", "sqlite", "postgres", "redis", "active_job_lock", "mongodb", "mongo_lock", "mariadb", "mysql"]
EMBEDDED = ["memory", "sqlite"]
WIRE = ["postgres", "redis"]
# One store for each database: without MySQL, which MariaDB's code speaks to, and without the second layouts.
DATABASES = ["memory", "sqlite", "postgres", "redis", "mongodb", "mariadb"]

# Programs that test connections, or what a store's folder promises.
CONNECTION = ["conformance", "engines", "fork", "harness", "mariadb", "mongodb", "parity", "postgres", "processes", "redis",
              "sqlite", "sqlite_descriptors"]

# Programs that need no store, or a file of their own.
WITHOUT_STORES = ["base", "bench", "cli_ending", "cli_terminal", "cli_torture", "cli_words", "command", "core", "fence", "sim",
                  "sim_long"]

# program -> suite -> where -> cases (names or patterns). Where is
#   every      every store: these cases of the suite test the connection
#   smoke      every store
#   databases  DATABASES
#   wire       WIRE
#   STORE      that store
# All cases run on memory and SQLite. A suite that is not named here runs on these two only.
ABOVE = {
    "client": {
        "Acquire": {
            "smoke": ["a_lease_is_held_until_released", "busy_is_an_ordinary_answer_that_says_who_holds_it",
                      "tokens_rise_from_client_to_client", "uncontended_each_verb_is_one_round_trip"],
            "wire": ["a_lease_without_end_is_held_without_renewing", "a_detached_lease_outlives_its_object_and_its_client",
                     "another_table_is_another_set_of_keys", "many_threads_share_a_client_and_every_request_is_sent_once",
                     "nobody_believes_longer_than_the_store_says", "renew_and_release_by_name_work_from_another_client",
                     "renewing_by_hand_restarts_and_extending_adds", "the_destructor_releases",
                     "a_name_of_ones_own_acquires_again_what_it_has",
                     "a_name_that_holds_the_key_does_not_wait_for_itself_behind_another",
                     "releasing_what_ran_out_says_expired_and_what_was_taken_says_stolen"],
            "postgres": ["a_client_creates_the_tables_that_are_missing_if_it_is_told_to"],
            "mariadb": ["a_client_creates_the_tables_that_are_missing_if_it_is_told_to"],
        },
        "Ask": {
            "databases": ["all_of_more_than_a_page_are_released"],
            "wire": ["a_lease_until_a_moment_lasts_until_then", "a_key_is_available_if_it_is_free_or_ours", "read_returns_the_holder_and_acquires_nothing", "all_that_an_owner_holds_is_released_and_nothing_else",
                     "a_free_key_that_others_wait_for_is_not_available"],
        },
        "ByHand": {
            "smoke": ["inspecting_shows_holder_queue_and_log", "waiting_ends_when_the_holder_releases_and_takes_nothing"],
            "wire": ["a_renewal_of_a_broken_lease_says_who_broke_it_and_why",
                     "a_release_of_a_broken_lease_says_who_broke_it_and_why", "breaking_takes_the_token_that_holds_and_nothing_else",
                     "a_lease_that_was_taken_over_says_by_whom_at_its_release", "purging_counts_what_it_takes_away"],
        },
        "Faults": {"smoke": ["at_every_step_of_acquire_renew_release_leave_no_ghost"], "wire": ALL},
        "Keep": {
            "smoke": ["a_broken_lease_is_reported_with_who_broke_it_and_why"],
            "databases": ["all_leases_are_renewed_in_one_batch"],
            "wire": ["a_kept_lease_lives_far_longer_than_its_ttl", "an_outage_*", "a_store_that_hangs_does_not_delay_the_loss",
                     "a_passing_failure_is_not_a_loss", "a_stolen_lease_is_reported_with_its_new_owner"],
        },
        "Observing": {
            "smoke": ["a_lease_is_acquired_renewed_and_released_once"],
            "wire": ["a_lost_event_says_who_broke_the_lease", "an_acquire_and_a_release_that_are_sent_again_are_retries",
                     "an_outage_is_retries_and_jeopardy_and_a_loss_and_no_release",
                     "every_call_of_the_store_is_reported_with_its_size"],
        },
        "Run": {"smoke": ["says_whether_it_ran_and_what_it_returned"]},
        "Wait": {"smoke": ["a_waiter_gets_the_key_when_it_is_released", "a_waiter_takes_over_what_runs_out"], "wire": ALL},
    },
    # The rows of docs/parity.md: what a statement decides is tested wherever there is such a statement.
    "defects": {
        "ClockDefects": {"every": ALL},
        "JobClockDefects": {"every": ALL},
        "Defects": {
            "every": ["there_two_win_a_fresh_key_here_one", "there_a_name_is_a_pattern_here_it_is_only_itself",
                      "there_extending_takes_the_lock_of_another_here_it_is_lost_and_stays_the_others",
                      "there_a_release_deletes_whatever_is_there_here_only_its_own_grant",
                      "there_anybody_releases_what_has_expired_here_it_is_the_last_holders_still",
                      "there_a_lock_without_end_is_read_as_expired_here_it_is_held",
                      "there_a_waiter_never_wakes_after_a_prune_here_it_does"],
        },
        "LanguageDefects": {"every": ALL},  # servers that speak German
        "KeepingDefects": {
            "wire": ["there_a_renewer_that_fails_is_not_missed_here_run_says_that_the_lease_was_lost",
                     "there_a_pool_of_one_starves_the_renewer_here_it_has_a_connection_of_its_own",
                     "there_work_hangs_at_its_end_behind_a_check_here_it_ends_while_a_renewal_is_out"],
        },
        "Traps": {
            "wire": ["there_the_ttl_counts_from_the_answer_here_from_the_send",
                     "there_waiters_poll_a_thousand_times_a_second_here_a_few",
                     "there_a_destructor_throws_or_hangs_here_it_does_neither"],
        },
    },
    "jobs": {
        # What the gem does, or does otherwise, is asked on its own keys too.
        "Ancestor": {"active_job_lock": ALL},
        "Behaviour": {
            "smoke": ["of_three_with_the_same_arguments_one_runs_and_two_are_dropped_and_reported",
                      "a_loner_is_not_enqueued_while_it_runs_and_is_again_when_it_has_ended"],
            "wire": ["after_its_timeout_a_second_one_runs_and_the_first_ends_without_touching_its_lock",
                     "a_job_whose_lock_is_in_a_store_that_is_away_is_handed_back",
                     "a_loner_that_waits_longer_than_its_timeout_is_still_the_only_one",
                     "a_window_lets_one_in_and_names_it_to_the_others",
                     "an_inline_run_does_not_free_the_slot_of_one_that_is_queued", "of_three_with_a_timeout_one_runs_as_well",
                     "a_job_may_name_another_store_for_its_lock"],
            "active_job_lock": ["an_inline_run_does_not_free_the_slot_of_one_that_is_queued",
                                "of_three_with_a_timeout_one_runs_as_well",
                                "after_its_timeout_a_second_one_runs_and_the_first_ends_without_touching_its_lock",
                                "*loner*", "*refresh*", "the_*"],
        },
        "Conflict": {"smoke": ["those_that_are_dropped_name_the_holder"], "wire": ALL},
        "Declared": {"active_job_lock": ["*loner*", "a_key_of_ones_own_is_that_of_the_loner_too"]},
        "Faults": {
            "smoke": ["a_claim_whose_answer_got_lost_is_handed_back_and_claimed_again"],
            "wire": ["a_finish_whose_answer_got_lost_is_asked_for_again_and_done_once",
                     "an_end_that_cannot_be_reported_is_unknown_and_the_job_runs_again",
                     "one_whose_heart_stood_still_knows_it_and_leaves_the_other_alone"],
        },
        "JobDefaults": {"smoke": ["a_job_that_declares_no_lock_has_none_and_every_copy_runs"],
                        "wire": ["of_three_that_declare_a_lock_one_runs_at_a_time_and_the_others_wait"]},
        "JobLocks": {"smoke": ["each_that_runs_has_a_token_above_the_last"]},
        "PerformNow": {"smoke": ["runs_under_the_same_lock_and_says_so"], "wire": ["excludes_a_job_of_the_queue"],
                       "active_job_lock": ["that_is_refused*", "inside_of_itself_is_refused"]},
        "Trial": {
            "smoke": ["of_many_loners_enqueued_at_once_one_is_and_the_rest_are_counted"],
            "wire": ["a_limit_of_three_holds_through_crashes_and_leaves_three_free",
                     "what_ends_a_job_frees_its_slot_and_what_does_not_keeps_it", "of_five_that_enqueue_the_same_tick_one_does",
                     "a_dead_loner_frees_its_slot_and_one_until_success_keeps_it", "an_event_during_a_run_makes_exactly_one_more"],
        },
        "Work": {
            "smoke": ["a_job_runs_with_its_arguments_under_its_lock", "a_job_that_throws_is_tried_again_and_then_dead",
                      "no_two_jobs_of_a_key_run_at_once_and_those_that_wait_all_run"],
            "wire": ALL,
        },
        "WorkEnds": {"wire": ALL},
    },
    "killed_jobs": {
        "CronProcesses": {"smoke": ["of_two_that_come_for_the_same_tick_at_once_one_enqueues_it"], "wire": ALL},
        # Whether an end in the middle leaves all or nothing is the store's own answer.
        "Kill": {
            "every": ["a_process_that_dies_while_it_enqueues_leaves_the_whole_job_or_nothing"],
            "smoke": ["a_worker_that_dies_at_any_step_leaves_a_job_that_is_done_by_another"],
            "wire": ALL,
            "active_job_lock": ["there_a_crash_without_a_timeout_locks_for_ever_here_it_is_free_after_the_lease"],
        },
    },
    "forked_jobs": {
        "ForkedJobs": {
            # What becomes of a connection in a child is the driver's matter.
            "every": ["jobs_end_in_a_child_and_their_connections_and_schedules_stay_the_parents"],
            "wire": ["every_call_of_a_child_is_refused_and_nothing_is_sent", "the_child_of_a_job_holds_nothing_of_it"],
        },
    },
    "torture": {
        # Whether a grant outlives its server is for each database to answer.
        "Outage": {"databases": ALL},
        "Torture": {"wire": ALL},
    },
    "cli": {
        "Operating": {
            "smoke": ["break_ends_a_run_which_reports_who_did_it_and_why"],
            "wire": ["break_wakes_the_next_in_the_queue", "wait_ends_when_the_holder_dies", "purge_reports_what_it_removed",
                     "show_says_who_waits", "ls_can_show_only_what_is_held_and_only_a_prefix"],
        },
        "Running": {
            "every": ["gives_its_command_no_descriptor_of_the_store"],  # each driver opens its own
            "smoke": ["ends_as_its_command_did", "lets_its_command_use_the_same_store",
                      "holds_the_key_while_its_command_runs_and_not_after"],
            "wire": ["works_with_standard_descriptors_closed", "renews_as_long_as_its_command_runs",
                     "tells_its_command_key_token_owner_and_deadline"],
        },
        "Scripts": {
            "smoke": ["acquire_leaves_the_lease_running_and_release_ends_it", "show_prints_all_about_a_key", "ls_lists_what_is_held_aligned"],
            "wire": ["renew_makes_a_lease_last_and_reports_when_it_is_lost", "show_knows_who_was_taken_over",
                     "a_lease_without_end_is_had_by_asking_and_seen_by_everybody",
                     "what_others_wrote_cannot_play_with_the_terminal"],
        },
        "Servers": {
            "every": ["that_are_dead_are_69_and_one_sentence", "without_tables_are_77_and_init_makes_them"],
            "wire": ALL,
        },
        "StrictServers": {
            "every": ["that_do_not_know_our_password_are_77_and_one_sentence", "see_the_password_and_nobody_else_does"],
            "wire": ALL,
        },
        "TroubleOn": {"databases": ALL},
        "Waiting": {
            "smoke": ["gets_the_key_when_it_is_released"],
            "wire": ["is_in_order", "leaves_no_place_behind_when_killed", "ends_at_once_on_a_signal_and_never_starts_the_command"],
        },
        # Each has an address of its own kind to keep its password in.
        "SecretsOf": {"every": ALL},
    },
    "cli_doctor": {
        # Each store makes its own findings; how the doctor prints them is the same for all.
        "DoctorOn": {
            "every": ["a_store_that_works_passes_the_self_test_and_has_the_class_of_its_findings",
                      "each_finding_says_what_to_change"],
            "databases": ["a_store_that_works_gives_no_false_alarm",
                          "the_statements_are_shown_with_the_names_of_their_tables"],
            "postgres": ALL,
        },
        "DamagedJobs": {"postgres": ALL, "mariadb": ALL},  # those that keep jobs in tables that people can change
        "DoctorOnRedis": {"redis": ALL},
        "DoctorOnServers": {"databases": ["that_nobody_has_used_are_examined_and_not_changed"], "wire": ALL},
        "DoctorOnStrictServers": {"wire": ALL},
    },
    "cli_fence": {
        # The code that guards a resource is written for each of them.
        "Fenced": {"every": ALL},
        "FencedInTransactions": {"every": ALL},
    },
    "cli_guard": {
        "Guard": {
            "wire": ["main_killed_ends_the_group_and_then_the_key_is_free", "ends_the_group_in_time_when_the_store_is_out_of_reach",
                     "main_stopped_the_group_dies_before_the_deadline_and_only_then_another_begins",
                     "ends_the_command_of_a_lease_that_somebody_released"],
        },
    },
    "cli_jobs": {
        "Explaining": {"wire": ["a_key_shows_who_was_dropped_because_of_whom_and_who_holds_it_now",
                                "a_job_shows_its_failures_and_who_acted"]},
        "Jobs": {
            "smoke": ["a_loner_is_enqueued_once_and_the_second_is_10_with_the_first_ones_number"],
            "wire": ["ls_shows_what_is_asked_for", "cancel_retry_and_rm_report_what_they_did_and_refuse_other_states"],
        },
        "NoRoom": {"wire": ALL},
        "RefusedWork": {"postgres": ALL},  # it has tables of which one may be forbidden
        "Turns": {"smoke": ["of_five_at_once_one_has_the_tick"],
                  "wire": ["every_runs_again_after_a_failure_and_not_after_a_success"]},
        "Working": {
            "smoke": ["a_program_is_given_its_arguments_and_who_it_is"],
            "wire": ["a_killed_worker_takes_its_program_with_it_and_another_does_the_job",
                     "a_stopped_worker_does_not_keep_its_program_longer_than_its_claim",
                     "a_cancelled_job_is_stopped", "two_workers_never_run_one_key_at_once"],
        },
    },
    "cli_see": {
        "Seeing": {"wire": ALL},
        "SeeingLayouts": {"every": ALL},
        "SeeingServers": {"wire": ALL},
        "TopServers": {"wire": ALL},
    },
    "cli_shells": {"EightShells": {"wire": ALL}},
}

# Under the sanitizers: program -> stores; of a program's suites that have no store all run. A pair (suite, stores) adds
# stores for that suite. Only what is chosen above is run.
#
# ASan and UBSan: what needs no store, the client and the jobs on memory and SQLite, the contract on every database, and each
# driver's own tests.
ASAN = {
    "base": ALL, "core": ALL, "sim": ALL, "command": ALL, "fence": ALL,
    "client": EMBEDDED, "jobs": EMBEDDED,
    "conformance": DATABASES, "engines": DATABASES,
    "sqlite": ALL, "postgres": ALL, "redis": ALL, "mongodb": ALL, "mariadb": ["mariadb"],
}
# TSan: what has threads. A store's connections are shared by threads too; MongoDB's listener has one of its own.
TSAN = {
    "base": ALL, "command": ALL, "fence": ALL, "mongodb": ALL,
    "client": [*EMBEDDED, ("Acquire", WIRE), ("Wait", WIRE), ("Keep", ["redis"])],
    "jobs": [*EMBEDDED, ("Work", WIRE)],
    "conformance": DATABASES, "engines": ["memory", "redis"],
}

# Suites in which one thread asks and waits for the answer: TSan would find nothing, and the table of the rule takes minutes under it.
WITHOUT_TSAN = ["RuleTable"]

# Programs of which each case has a process of its own: a thread that an earlier case left behind may hold a lock at the moment of the
# fork, and the child would wait for it forever.
ISOLATED = ["fork", "forked_jobs"]

# A server that is slow, and shared: word in the name of a store or program -> how many tests may be at it at once. MongoDB's engine
# for tests writes each answer to disk before it gives it.
AT_ONCE = {"mongo": 2}

# How many cases each part may have at most; what needs no store may have any number. Who needs more raises the number here,
# where others see it, or takes some away.
BUDGET = {
    "connection": 1691,
    "above, embedded": 747,
    "above, wire": 410,
    "above, smoke": 247,
}
