/** `TaskStoreSql` with SQLite and many tasks. */
import { it } from "@effect/vitest"
import { leaveNothing } from "./support/endedTasks.ts"

it.live(
  "5,000 tasks that were created, awaited, ended and removed leave no bytes, no fibers and no rows",
  () => leaveNothing(5000, 1024 * 1024),
  300_000
)
