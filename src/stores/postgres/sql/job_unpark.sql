-- SPDX-License-Identifier: Apache-2.0
-- A job has freed its lock, in the statement before: the first that waits for it is due.
{unpark};
