-- SPDX-License-Identifier: Apache-2.0
-- What was written down, newest first.
SELECT {us(g.at)}, g.`key`, g.event, g.holder, g.token, g.`by`, g.reason
  FROM {log} AS g
 WHERE {wanted}
 ORDER BY g.id DESC
 LIMIT {limit};
