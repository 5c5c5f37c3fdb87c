/** A load of calls as plain text, which costs little beside the server under load. */
import { performance } from "node:perf_hooks"
import { alternate, type Contender, type Samples } from "./measure.ts"

/** A connection of messages. One call of `write` may contain several, each ended by a line feed. */
export interface MessageConnection {
  readonly write: (messages: ReadonlyArray<string>) => void
  /** Subscribes to received messages. A message may arrive in pieces, never mixed with another. */
  readonly subscribe: (receive: (messages: ReadonlyArray<string>) => void) => void
  /** Rejects when the other side closes. */
  readonly closed: Promise<never>
}

/** The first request of a client. */
export const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "benchmark", version: "1.0.0" } }
}

/** The numbers of concurrent calls. */
const widths: ReadonlyArray<number> = [1, 64]

/** The number of rounds until the just-in-time compiler has finished. */
const warmUpRounds = 5

/** Microseconds per call, by the number of concurrent calls and server, with one number per round. */
export interface Results {
  readonly [width: string]: { readonly [server: string]: Samples }
}

/** Measures calls of servers. All of them run throughout, because an idle process takes no CPU time. */
export const compare = async (
  clients: ReadonlyArray<{ readonly name: string; readonly client: Client }>,
  { calls, rounds }: { readonly calls: number; readonly rounds: number }
): Promise<Results> => {
  const results: { [width: string]: { readonly [server: string]: Samples } } = {}
  for (const width of widths) {
    const contenders = clients.map(({ client, name }): Contender => ({
      name,
      once: async () => await client.calls(calls, width) * 1000 / calls
    }))
    await alternate(contenders, warmUpRounds)
    results[width] = Object.fromEntries(await alternate(contenders, rounds))
  }
  return results
}

/** A client after its handshake. */
export interface Client {
  /** Makes calls with a number of them in flight, and returns the duration in milliseconds. */
  readonly calls: (count: number, inFlight: number) => Promise<number>
}

const call = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"add","arguments":{"a":${id},"b":1}}}`

/** Checks that each response has the sum of its call. */
const check = (answers: ReadonlyArray<string>, from: number): void => {
  const seen = new Set<number>()
  for (const answer of answers) {
    const { id, result } = JSON.parse(answer)
    if (typeof id !== "number" || id < from || id >= from + answers.length || seen.has(id)) {
      throw new Error(`unexpected response: ${answer}`)
    }
    if (Number(result?.structuredContent?.sum ?? result?.content?.[0]?.text) !== id + 1) {
      throw new Error(`wrong result: ${answer}`)
    }
    seen.add(id)
  }
}

export const connect = async (connection: MessageConnection): Promise<Client> => {
  let receive = (_messages: ReadonlyArray<string>): void => {}
  connection.subscribe((messages) => receive(messages))
  const response = new Promise<ReadonlyArray<string>>((resolve) => {
    receive = resolve
  })
  connection.write([JSON.stringify(initialize)])
  const [first] = await Promise.race([response, connection.closed])
  if (JSON.parse(first ?? "null")?.result?.serverInfo?.name !== "benchmark") {
    throw new Error(`handshake failed: ${first}`)
  }
  connection.write(["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"])

  let next = 1
  return {
    calls: async (count, inFlight) => {
      const from = next
      next += count
      // Encoded in advance, so that only sending and receiving are measured.
      const requests = Array.from({ length: count }, (_, index) => call(from + index))
      const answers: Array<string> = []
      let sent = Math.min(inFlight, count)
      const done = new Promise<number>((resolve) => {
        receive = (messages) => {
          for (const message of messages) answers.push(message)
          if (answers.length === count) return resolve(performance.now())
          const more = requests.slice(sent, sent + messages.length)
          sent += more.length
          if (more.length > 0) connection.write(more)
        }
      })
      const began = performance.now()
      connection.write(requests.slice(0, sent))
      const ended = await Promise.race([done, connection.closed])
      check(answers, from)
      return ended - began
    }
  }
}
