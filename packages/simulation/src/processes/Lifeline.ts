/**
 * The life of a simulated process: it runs, is paused, or is dead.
 *
 * Everything that reaches a process from outside enters here: the end of a sleep, the answer of a store, a request and
 * its end. So nothing of a paused process runs, and nothing of a dead one ever again, its finalizers included. What
 * reaches a paused process waits, in order.
 */

/** The end or the pause of a process at one of its next operations. */
export interface Strike {
  readonly what: "Kill" | "Pause"
  /** The number of operations that are not hit. */
  operations: number
  /** Whether it hits after the operation has been sent, and not before. */
  readonly isAfter: boolean
}

export class Lifeline {
  readonly #record: (what: "Killed" | "Paused" | "Resumed") => void
  readonly #killed: Array<() => void> = []
  #waiting: Array<() => void> = []
  #state: "Running" | "Paused" | "Dead" = "Running"
  #strike: Strike | undefined = undefined

  constructor(record: (what: "Killed" | "Paused" | "Resumed") => void) {
    this.#record = record
  }

  get isRunning(): boolean {
    return this.#state === "Running"
  }

  get isDead(): boolean {
    return this.#state === "Dead"
  }

  /** Whether one of the next operations is hit. */
  get isStruck(): boolean {
    return this.#strike !== undefined
  }

  /** Kills or pauses the process at one of its next operations. */
  strike(strike: Strike): void {
    this.#strike = strike
  }

  /** Calls a function when the process is killed. */
  onKilled(listener: () => void): void {
    if (this.#state !== "Dead") this.#killed.push(listener)
  }

  kill(): void {
    if (this.#state === "Dead") return
    this.#state = "Dead"
    this.#waiting = []
    this.#record("Killed")
    for (const listener of this.#killed.splice(0)) listener()
  }

  pause(): void {
    if (this.#state !== "Running") return
    this.#state = "Paused"
    this.#record("Paused")
  }

  resume(): void {
    this.#strike = undefined
    if (this.#state !== "Paused") return
    this.#state = "Running"
    this.#record("Resumed")
    const waiting = this.#waiting
    this.#waiting = []
    for (const action of waiting) this.enter(action)
  }

  /** Runs an action in the process: now, when it is resumed, or never. */
  enter(action: () => void): void {
    if (this.#state === "Running") action()
    else if (this.#state === "Paused") this.#waiting.push(action)
  }

  /** Sends an operation beyond the process, unless the process is hit before. */
  operation(send: () => void): void {
    const strike = this.#strike
    const isHit = strike !== undefined && strike.operations-- <= 0
    if (isHit) this.#strike = undefined
    if (isHit && !strike.isAfter) this.#hit(strike)
    this.enter(() => {
      send()
      if (isHit && strike.isAfter) this.#hit(strike)
    })
  }

  #hit({ what }: Strike): void {
    if (what === "Kill") this.kill()
    else this.pause()
  }
}
