/**
 * `collected` collects all garbage first.
 */
export type Question = "as it is" | "collected"

/**
 * How a server's process is: what it holds, in bytes, and for how long its event loop has been busy and idle, in milliseconds.
 */
export interface State {
  readonly resident: number
  readonly heap: number
  readonly external: number
  readonly busy: number
  readonly idle: number
}

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** What one collection finalizes, the next can free. */
const collect = async (): Promise<void> => {
  for (let times = 0; times < 4; times++) {
    await globalThis.gc?.({ type: "major", execution: "async" })
    await nextTurn()
  }
}

const state = async (question: unknown): Promise<State> => {
  const { active, idle } = performance.eventLoopUtilization()
  if (question === "collected") await collect()
  const { external, heapUsed, rss } = process.memoryUsage()
  return { resident: rss, heap: heapUsed, external, busy: active, idle }
}

/** Says that the server listens, answers how it is, and ends with whoever started it. */
export const report = (port: number): void => {
  process.on("message", (question) => {
    void state(question).then((state) => process.send?.(state))
  })
  // Not only by letting go of the channel: open connections keep a process alive.
  process.on("disconnect", () => process.exit(0))
  process.send?.(port)
}
