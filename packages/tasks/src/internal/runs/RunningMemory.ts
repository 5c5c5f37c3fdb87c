/** The memory that the running tasks of a process hold for their clients. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { Weight } from "@effect-mcp/session/internal"
import type { Account, MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type * as StoredTask from "../../StoredTask.ts"

/**
 * The part of a budget that all running tasks together may hold. The rest stays for requests, which end soon. It is
 * less than the half at which a budget is scarce: tasks run for hours, and messages would have no buffers as long.
 */
const share = 1 / 4

/** The memory of the running tasks that share a budget. */
export class RunningMemory {
  readonly #account: Account
  readonly #maxBytes: number
  /** The bytes of each principal; `undefined` is that of all clients without one. */
  readonly #owned = new Map<string | undefined, number>()

  constructor(budget: MemoryBudget) {
    this.#account = budget.open()
    this.#maxBytes = budget.maxBytes * share
  }

  /**
   * Charges what the run of a task holds from its start to its end. Returns the function that releases it, once, and
   * `undefined` if there is no room. A principal has no more than is still free for others, so that one alone gets half
   * and cannot keep all others from running tasks. Its first task may be larger: otherwise it would never run.
   */
  hold(task: StoredTask.StoredTask): (() => void) | undefined {
    const { principal } = task
    const bytes = Weight.of(task)
    const owned = this.#owned.get(principal) ?? 0
    const free = this.#maxBytes - this.#account.heldBytes - bytes
    if (free < 0 || (owned > 0 && owned + bytes > free) || !this.#account.take(bytes)) return undefined
    this.#owned.set(principal, owned + bytes)
    let isHeld = true
    return () => {
      if (isHeld) this.#release(principal, bytes)
      isHeld = false
    }
  }

  #release(principal: string | undefined, bytes: number): void {
    this.#account.release(bytes)
    const rest = (this.#owned.get(principal) ?? 0) - bytes
    if (rest > 0) this.#owned.set(principal, rest)
    else this.#owned.delete(principal)
  }

  /** The rejection of a request that cannot become a task, because there is no room. */
  get rejection(): McpError.McpError {
    return McpError.received({
      code: ErrorCode.Overloaded,
      message: `Overloaded: the request cannot become a task, because all running tasks together may take ` +
        `${this.#maxBytes} bytes, a quarter of the memory budget of the process, and those of one client as much as ` +
        "is free for others; send it again when some have ended"
    })
  }
}

const ofBudget = new WeakMap<MemoryBudget, RunningMemory>()

/** Returns the memory of all running tasks that are charged to a budget, whatever their server. */
export const of = (budget: MemoryBudget): RunningMemory => {
  const known = ofBudget.get(budget)
  if (known !== undefined) return known
  const memory = new RunningMemory(budget)
  ofBudget.set(budget, memory)
  return memory
}
