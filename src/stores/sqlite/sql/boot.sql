-- SPDX-License-Identifier: Apache-2.0
-- On which boot and in which time namespace the times in these tables were read; and where tokens start.
SELECT boot_id, time_namespace, purged_token FROM {state};
