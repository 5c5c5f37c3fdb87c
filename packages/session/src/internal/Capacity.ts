import type { Limits } from "../Limits.ts"

/** How many requests may be served at the same time, and in how many bytes they may have come. */
export type Room = Pick<Limits, "incoming" | "incomingBytes">

/** Why there is no room for one more, where so many are served, and so many bytes would be with it. */
export const problem = ({ incoming, incomingBytes }: Room, served: number, bytes: number): string | undefined => {
  if (served >= incoming) return `${incoming} requests are in flight`
  return bytes > incomingBytes ? `the requests in flight may have ${incomingBytes} bytes` : undefined
}

/** Room that is given to whoever comes, and given back. */
export class Capacity {
  readonly #room: Room
  #served = 0
  #bytes = 0

  constructor(room: Room) {
    this.#room = room
  }

  /** Takes the room for one more; or says why there is none. */
  take(bytes: number): string | undefined {
    const full = problem(this.#room, this.#served, this.#bytes + bytes)
    if (full !== undefined) return full
    this.#served++
    this.#bytes += bytes
    return undefined
  }

  /** Gives the room of one back. */
  release(bytes: number): void {
    this.#served--
    this.#bytes -= bytes
  }
}
