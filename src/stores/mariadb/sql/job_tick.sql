-- SPDX-License-Identifier: Apache-2.0
-- A name's last tick.
SELECT tick, job, taken_by, {us(taken_at)}, {us(success_at)}, {us(until)} FROM {ticks} WHERE name = {name}{locked};
