-- SPDX-License-Identifier: Apache-2.0
-- When something of a queue may be due, for those who found nothing.
SELECT EXISTS (SELECT 1 FROM {jobs} FORCE INDEX (ready) WHERE queue = {queue} AND ready_priority IS NOT NULL),
       (SELECT {us(MIN(aside_until))} FROM {jobs} FORCE INDEX (aside) WHERE queue = {queue}),
       (SELECT {us(MIN(claim_until))} FROM {jobs} FORCE INDEX (claimed) WHERE queue = {queue});
