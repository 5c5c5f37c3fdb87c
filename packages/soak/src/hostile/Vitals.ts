/** The reports of a process under attack: its heap, its event loop and the calls of its bystanders. */
import { monitorEventLoopDelay } from "node:perf_hooks"

/** A report about the whole time so far. */
export interface Vitals {
  readonly heapBytes: number
  readonly rssBytes: number
  readonly loopMillis: number
  /** Successful and failed calls of a bystander, and the longest call. A server has no bystander in its process. */
  readonly served: number
  readonly failed: number
  readonly longestMillis: number
  readonly lastFailure: string | undefined
}

export const none: Vitals = {
  heapBytes: 0,
  rssBytes: 0,
  loopMillis: 0,
  served: 0,
  failed: 0,
  longestMillis: 0,
  lastFailure: undefined
}

/** A count of the outcomes of a bystander's calls. */
export class Bystander {
  served = 0
  failed = 0
  longestMillis = 0
  lastFailure: string | undefined

  record(startMillis: number, failure: string | undefined): void {
    this.longestMillis = Math.max(this.longestMillis, performance.now() - startMillis)
    if (failure === undefined) this.served++
    else {
      this.failed++
      this.lastFailure = failure
    }
  }
}

/** The time between two reports of a process, in milliseconds. */
export const reportMillis = 200

/** Reports to the parent process until this process ends. */
export const report = (bystander: Bystander): void => {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  let heapBytes = 0
  let rssBytes = 0
  let loopMillis = 0
  // In the first second the process compiles modules.
  setTimeout(() => delay.enable(), 1000).unref()
  const send = () => {
    const { heapUsed, rss } = process.memoryUsage()
    heapBytes = Math.max(heapBytes, heapUsed)
    rssBytes = Math.max(rssBytes, rss)
    if (delay.count > 0) loopMillis = Math.max(loopMillis, delay.max / 1e6)
    const { failed, lastFailure, longestMillis, served } = bystander
    const vitals: Vitals = { heapBytes, rssBytes, loopMillis, served, failed, longestMillis, lastFailure }
    // The parent may have exited after the last report.
    process.send?.(vitals, undefined, undefined, () => {})
  }
  setInterval(send, reportMillis).unref()
}
