-- SPDX-License-Identifier: Apache-2.0
-- How far the sweep has come in {locks}.
SELECT swept_to FROM {state};
