-- SPDX-License-Identifier: Apache-2.0
-- No key that is not there any more had a larger token.
SELECT purged_token FROM {state};
