/** Results with a time to live, bounded in their number and their bytes. */

import type { HandlerResult, Target } from "../../McpMiddleware.ts"

interface Cached {
  readonly result: HandlerResult
  readonly target: Target
  readonly until: number
  readonly bytes: number
}

/** A table of results. If it is full, the ones that were used least recently make room. */
export class CachedResults {
  // A map keeps the order of insertion.
  readonly #results = new Map<string, Cached>()
  readonly #maxEntries: number
  readonly #maxBytes: number
  #bytes = 0
  #removals = 0

  constructor(bounds: { readonly maxEntries: number; readonly maxBytes: number }) {
    this.#maxEntries = bounds.maxEntries
    this.#maxBytes = bounds.maxBytes
  }

  /** The number of calls of `remove` so far. */
  get removals(): number {
    return this.#removals
  }

  get(key: string, time: number): HandlerResult | undefined {
    const cached = this.#results.get(key)
    if (cached === undefined) return undefined
    this.#results.delete(key)
    if (cached.until <= time) {
      this.#bytes -= cached.bytes
      return undefined
    }
    this.#results.set(key, cached)
    return cached.result
  }

  /** Keeps a result. One that is larger than the bound is not kept. */
  set(key: string, cached: Cached): void {
    this.#delete(key)
    if (cached.bytes > this.#maxBytes) return
    this.#results.set(key, cached)
    this.#bytes += cached.bytes
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= this.#maxEntries && this.#bytes <= this.#maxBytes) return
      this.#delete(oldest)
    }
  }

  /** Removes the results of some targets. */
  remove(which: (target: Target) => boolean): void {
    this.#removals++
    for (const [key, { target }] of this.#results) if (which(target)) this.#delete(key)
  }

  #delete(key: string): void {
    this.#bytes -= this.#results.get(key)?.bytes ?? 0
    this.#results.delete(key)
  }
}
