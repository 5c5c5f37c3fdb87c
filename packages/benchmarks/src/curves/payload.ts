/**
 * The curves of large results: calls of a tool that returns a text of the requested size, one at a time.
 *
 * The servers have their default limits. That of 4 MiB for a message concerns received ones, and up to 32 MiB may wait
 * to be sent.
 */
import * as Connection from "../http/Connection.ts"
import * as RawConnection from "../http/RawConnection.ts"
import { start as startHttp } from "../http/ServerProcess.ts"
import * as Session from "../http/Session.ts"
import { initialize } from "../load.ts"
import { millisOf } from "../measure.ts"
import type { Options } from "../Part.ts"
import { build } from "../servers.ts"
import { start as startStdio } from "../StdioProcess.ts"
import * as Curve from "./Curve.ts"

const sizes = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]

/** The bytes of all results in one sample, unless they would be fewer than two calls. */
const bytesOfSample = 20_000_000

/** The share of calls, because there are many points. */
const share = 1 / 4

/** The most bytes of a response in addition to its text. */
const mostAround = 1_000

/** Checks the length and the id of a response, whose text would take longer to parse than to send. */
const check = (pieces: ReadonlyArray<Buffer>, id: number, bytes: number): void => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const first = pieces[0]?.toString("latin1", 0, mostAround) ?? ""
  const last = pieces.slice(-4).map((piece) => piece.toString("latin1", Math.max(0, piece.length - mostAround))).join(
    ""
  )
  const hasId = new RegExp(`"id":${id}[,}]`)
  if (length < bytes || length > bytes + mostAround || !(hasId.test(first) || hasId.test(last))) {
    throw new Error(`${length} bytes instead of a text of ${bytes} with the id ${id}: ${first.slice(0, 200)}`)
  }
}

/** Makes calls one after another, and returns the microseconds of one. */
const callsOf = (
  { calls }: Options,
  bytes: number,
  exchange: (input: string) => Promise<{ readonly id: number; readonly pieces: ReadonlyArray<Buffer> }>
) =>
async (): Promise<Curve.Costs> => {
  const count = Math.max(2, Math.min(Math.ceil(calls * share), Math.round(bytesOfSample / bytes)))
  const input = `{"bytes":${bytes}}`
  const millis = await millisOf(async () => {
    for (let call = 0; call < count; call++) {
      const { id, pieces } = await exchange(input)
      check(pieces, id, bytes)
    }
  })
  return { call: millis * 1000 / count }
}

const overStdio = (name: string, program: string): Curve.CurveContender => ({
  name,
  prepare: async (bytes, options) => {
    build()
    const { exchange, stop } = startStdio({ name, program })
    await exchange(JSON.stringify(initialize))
    let ids = 0
    const once = callsOf(options, bytes, async (input) => {
      const id = ++ids
      const params = `{"name":"text","arguments":${input}}`
      return { id, pieces: await exchange(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`) }
    })
    return { once, close: stop }
  }
})

const overHttp = (name: string, program: string, mode: string): Curve.CurveContender => ({
  name,
  prepare: async (bytes, options) => {
    const { port, stop } = await startHttp({ name, program, mode, compiled: false })
    const opening = await Connection.open(port)
    const session = await Session.open(port, opening)
    opening.close()
    const once = async () => {
      // A new connection, because a server closes idle ones after a while.
      const connection = await RawConnection.open(port)
      const costs = await callsOf(options, bytes, async (input) => {
        const { id, request } = session.call("text", input)
        return { id, pieces: await connection.exchange(request) }
      })()
      connection.close()
      return costs
    }
    return { once, close: stop }
  }
})

const curve = (file: string, title: string, contenders: ReadonlyArray<Curve.CurveContender>): Curve.Curve => ({
  sizes,
  meaning: "bytes of the result's text",
  quantities: { call: { file, title, unit: "µs per call" } },
  contenders,
  warmUpRounds: (bytes) => bytes < 1_000_000 ? 3 : 1,
  mostRounds: (bytes) => bytes < 10_000_000 ? Infinity : 9
})

export const stdio: Curve.Curve = curve("payload-stdio", "Large results over stdio", [
  overStdio(Curve.ours, "ours"),
  overStdio("raw lines of JSON", "echo"),
  overStdio("official v1", "officialV1"),
  overStdio("official v2", "officialV2")
])

export const http: Curve.Curve = curve("payload-http", "Large results over Streamable HTTP", [
  overHttp(Curve.ours, "ours", "adaptive"),
  overHttp("bare node:http", "rawNode", ""),
  overHttp("official v1, JSON", "officialV1", "json"),
  overHttp("official v2, JSON", "officialV2", "json")
])
