/** Subscribed clients of a library whose server has one client, so that each client has a server of its own. */
import { delivery, type Subscribers } from "./Subscribers.ts"

/** A client that has subscribed to the resource of its server. */
export interface Pair {
  /** Sends the notification of a change, if the client has subscribed. */
  readonly update: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens pairs, each with a function that counts a received notification. */
export const connect = async (
  clients: number,
  open: (received: () => void) => Promise<Pair>
): Promise<Subscribers> => {
  const { next, received } = delivery(clients)
  const pairs: Array<Pair> = []
  for (let index = 0; index < clients; index++) pairs.push(await open(received))
  return {
    update: async () => {
      const delivered = next()
      await Promise.all(pairs.map(({ update }) => update()))
      await delivered
    },
    close: async () => {
      for (const { close } of pairs) await close()
    }
  }
}
