/** The memory that the running tasks of a process hold for their clients. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import type { Account, MemoryBudget } from "../../MemoryBudget.ts"
import type * as StoredTask from "../../StoredTask.ts"
import * as Weight from "../engine/Weight.ts"

/** The part of a budget that all running tasks together may hold. The rest stays for requests, which end soon. */
const share = 1 / 2

/** The memory of the running tasks that share a budget. */
export class RunningMemory {
  readonly #account: Account
  readonly #maxBytes: number

  constructor(budget: MemoryBudget) {
    this.#account = budget.open()
    this.#maxBytes = budget.maxBytes * share
  }

  /**
   * Charges what the run of a task holds from its start to its end. Returns the function that releases it, once, and
   * `undefined` if there is no room.
   */
  hold(task: StoredTask.StoredTask): (() => void) | undefined {
    const bytes = Weight.of(task)
    if (this.#account.heldBytes + bytes > this.#maxBytes || !this.#account.take(bytes)) return undefined
    let isHeld = true
    return () => {
      if (isHeld) this.#account.release(bytes)
      isHeld = false
    }
  }

  /** The rejection of a request that cannot become a task, because there is no room. */
  get rejection(): McpError.McpError {
    return McpError.received({
      code: ErrorCode.Overloaded,
      message: `Overloaded: the request cannot become a task, because all running tasks together may take ` +
        `${this.#maxBytes} bytes, half of the memory budget of the process; send it again when some have ended`
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
