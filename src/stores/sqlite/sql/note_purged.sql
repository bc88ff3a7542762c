-- SPDX-License-Identifier: Apache-2.0
-- The tokens of what was just taken away (purge_keys.sql) were behind the clock.  It may be set back later.
UPDATE {state} SET purged_token = max(purged_token, walltime());
