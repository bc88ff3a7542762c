-- SPDX-License-Identifier: Apache-2.0
-- On which boot and in which time namespace the times in these tables were read.
SELECT boot_id, time_namespace FROM {state};
