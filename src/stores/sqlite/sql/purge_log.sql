-- SPDX-License-Identifier: Apache-2.0
-- Takes away what was written down so long ago.
-- ?1 so many microseconds
DELETE FROM {log} WHERE at <= walltime() - ?1;
