/** A stored task for tests. */
import type { StoredTask } from "@effect-mcp/tasks"

/** Returns a task of ada that runs, with these changes. */
export const storedTask = (id: string, changes: Partial<StoredTask.StoredTask> = {}): StoredTask.StoredTask => ({
  id,
  principal: "ada",
  request: { method: "tools/call", params: { name: "report" } },
  createdAt: 0,
  updatedAt: 0,
  pollMillis: 500,
  cancelRequested: false,
  questions: [],
  steps: [],
  version: 1,
  ...changes
})
