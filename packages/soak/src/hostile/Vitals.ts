/** The reports of a process that is attacked: its heap, its event loop, and how well others are served. */
import { monitorEventLoopDelay } from "node:perf_hooks"

/** One report. Everything is of the whole time so far. */
export interface Vitals {
  readonly heapBytes: number
  readonly rssBytes: number
  readonly loopMillis: number
  /** Calls of a bystander that were answered and that failed, and the longest of them; a server has none of its own. */
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

/** Counts what becomes of the calls of a bystander. */
export class Bystander {
  served = 0
  failed = 0
  longestMillis = 0
  lastFailure: string | undefined

  record(beganMillis: number, failure: string | undefined): void {
    this.longestMillis = Math.max(this.longestMillis, performance.now() - beganMillis)
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
  // The first second is that of the start, when modules are still compiled.
  setTimeout(() => delay.enable(), 1000).unref()
  const send = () => {
    const { heapUsed, rss } = process.memoryUsage()
    heapBytes = Math.max(heapBytes, heapUsed)
    rssBytes = Math.max(rssBytes, rss)
    if (delay.count > 0) loopMillis = Math.max(loopMillis, delay.max / 1e6)
    const { failed, lastFailure, longestMillis, served } = bystander
    const vitals: Vitals = { heapBytes, rssBytes, loopMillis, served, failed, longestMillis, lastFailure }
    // The parent may have ended since the last report.
    process.send?.(vitals, undefined, undefined, () => {})
  }
  setInterval(send, reportMillis).unref()
}
