/** A question to a server's process. `collected` collects all garbage first. */
export type Question = "as it is" | "collected"

/**
 * The state of a process: its memory in bytes, and in milliseconds the busy and idle time of its event loop and the CPU
 * time of all its threads.
 */
export interface State {
  readonly resident: number
  readonly heap: number
  readonly external: number
  readonly busy: number
  readonly idle: number
  readonly cpu: number
}

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** Collects garbage several times, because a collection can free what an earlier one has finalized. */
const collect = async (): Promise<void> => {
  for (let times = 0; times < 4; times++) {
    await globalThis.gc?.({ type: "major", execution: "async" })
    await nextTurn()
  }
}

const state = async (question: unknown): Promise<State> => {
  const { active, idle } = performance.eventLoopUtilization()
  if (question === "collected") await collect()
  const { system, user } = process.cpuUsage()
  const { external, heapUsed, rss } = process.memoryUsage()
  return { resident: rss, heap: heapUsed, external, busy: active, idle, cpu: (user + system) / 1000 }
}

/** Reports the port of a server to its parent, answers questions about its state, and exits with the parent. */
export const report = (port: number): void => {
  process.on("message", (question) => {
    void state(question).then((state) => process.send?.(state))
  })
  // Open connections would keep the process alive after the channel has closed.
  process.on("disconnect", () => process.exit(0))
  process.send?.(port)
}
