/** A load of calls as bare text: what makes it shall cost next to nothing beside what serves it. */
import { performance } from "node:perf_hooks"
import { alternate, type Contender, type Samples } from "./measure.ts"

/** What messages go over, both ways. One call of `write` may bring several, each ended by a line feed. */
export interface Wire {
  readonly write: (messages: ReadonlyArray<string>) => void
  /** Is given what has come; a message may come in pieces, but is never mixed with another. */
  readonly listen: (hear: (messages: ReadonlyArray<string>) => void) => void
  /** Fails when the other side goes. */
  readonly gone: Promise<never>
}

/** What a client begins with. */
export const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "benchmark", version: "1.0.0" } }
}

/** How many calls are under way at a time. */
const widths: ReadonlyArray<number> = [1, 64]

/** What the just-in-time compiler takes to come to rest. */
const warmUpRounds = 5

/** Microseconds per call: how many under way, server, one number per round. */
export interface Results {
  readonly [width: string]: { readonly [server: string]: Samples }
}

/** Calls of servers that run at the same time: what is idle takes nothing. */
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

/** A client that has shaken hands. */
export interface Client {
  /** Makes so many calls, with so many under way at a time. How long it took, in milliseconds. */
  readonly calls: (count: number, inFlight: number) => Promise<number>
}

const call = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"add","arguments":{"a":${id},"b":1}}}`

/** The sum of each call, by its id: what is measured must also be right. */
const check = (answers: ReadonlyArray<string>, from: number): void => {
  const seen = new Set<number>()
  for (const answer of answers) {
    const { id, result } = JSON.parse(answer)
    if (typeof id !== "number" || id < from || id >= from + answers.length || seen.has(id)) {
      throw new Error(`nobody asked for ${answer}`)
    }
    if (Number(result?.content?.[0]?.text) !== id + 1) throw new Error(`a wrong answer: ${answer}`)
    seen.add(id)
  }
}

export const connect = async (wire: Wire): Promise<Client> => {
  let hear = (_messages: ReadonlyArray<string>): void => {}
  wire.listen((messages) => hear(messages))
  const hello = new Promise<ReadonlyArray<string>>((resolve) => {
    hear = resolve
  })
  wire.write([JSON.stringify(initialize)])
  const [first] = await Promise.race([hello, wire.gone])
  if (JSON.parse(first ?? "null")?.result?.serverInfo?.name !== "benchmark") throw new Error(`no handshake: ${first}`)
  wire.write(["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"])

  let next = 1
  return {
    calls: async (count, inFlight) => {
      const from = next
      next += count
      // Written beforehand, so that a call costs its sending and its answer's coming.
      const requests = Array.from({ length: count }, (_, index) => call(from + index))
      const answers: Array<string> = []
      let sent = Math.min(inFlight, count)
      const done = new Promise<number>((resolve) => {
        hear = (messages) => {
          for (const message of messages) answers.push(message)
          if (answers.length === count) return resolve(performance.now())
          const more = requests.slice(sent, sent + messages.length)
          sent += more.length
          if (more.length > 0) wire.write(more)
        }
      })
      const began = performance.now()
      wire.write(requests.slice(0, sent))
      const ended = await Promise.race([done, wire.gone])
      check(answers, from)
      return ended - began
    }
  }
}
