/** The durable calls in the store of tasks, as far as the laws need them. */
import type { StoredTask } from "@effect-mcp/tasks"

/** Returns the number of the call that a task is. */
export const nonceOf = ({ request: { params } }: StoredTask.StoredTask): number => {
  const values = params?.["arguments"]
  return typeof values === "object" && values !== null && "nonce" in values ? Number(values.nonce) : Number.NaN
}

/** Returns the number of the owner of its session to which a task belongs. */
export const epochOf = ({ call }: StoredTask.StoredTask): number => call?.epoch ?? 0
