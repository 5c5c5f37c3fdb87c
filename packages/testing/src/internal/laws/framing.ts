/** Laws of framing, for transports that carry lines. */

import { JsonRpc } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as assert from "node:assert/strict"
import type { ClientEnd, SubjectFaults } from "../../laws/law/TransportSubject.ts"
import { law, type Timeless, topic } from "./Law.ts"
import { errorCode, eventually, type LawContext, stillServed, structured } from "./LawContext.ts"

/** Lets the other side read, so that the data before and after arrives in two chunks. */
const apart = Effect.sleep(1)

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const lineOf = (message: JsonRpc.Message): string => `${JSON.stringify(message)}\n`

/** Returns a log message of the server, as a line. */
const logged = (data: string | number): string =>
  lineOf(JsonRpc.notification("notifications/message", { level: "info", data }))

/** Lines that are not JSON: words, half a message, and half a character. */
const noJson: ReadonlyArray<Uint8Array> = [
  bytesOf("npm warn deprecated\n"),
  bytesOf("{\"jsonrpc\":\"2.0\",\"method\":\n"),
  Uint8Array.of(0x22, 0xE6, 0xBC, 0x22, 0x0A)
]

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(chunks.flatMap((chunk) => [...chunk]))

/** Returns the bytes, cut at these places. */
const piecesOf = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const cuts = places.map((place) => place % bytes.length).toSorted((one, two) => one - two)
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index])).filter(({ length }) => length > 0)
}

/** Returns a line of this number of bytes, without its line feed. */
const lineOfBytes = (length: number): string => {
  const empty = logged("")
  return logged("x".repeat(length + 1 - empty.length))
}

/** Returns the laws of bytes for the client, in any chunks and possibly invalid. */
export const clientFraming = <Served extends ClientEnd>(
  { connect, runs, serve }: LawContext<Served>,
  inject: NonNullable<SubjectFaults<Served>["injectToClient"]>,
  maxMessageBytes: number | undefined
): ReadonlyArray<Timeless> => {
  const listen = Effect.gen(function*() {
    const seen: Array<unknown> = []
    const bad: Array<string> = []
    const served = yield* serve
    const observe = (event: SessionEvent.SessionEvent) => event._tag === "BadFrame" && bad.push(event.error._tag)
    const session = yield* connect(served, {
      observe,
      handlers: { "notifications/message": ({ data }) => Effect.sync(() => seen.push(data)) }
    })
    return { bad, seen, served, session }
  })

  const oversized = (limitBytes: number) =>
    law(`[STD-02] laws 7 and 12: a line of more than ${limitBytes} bytes costs only itself`, function*() {
      const { bad, seen, served, session } = yield* listen
      const longest = lineOfBytes(limitBytes)
      const tooLong = lineOfBytes(limitBytes + 1)
      yield* inject(served, bytesOf(`${logged(1)}${tooLong}${logged(2)}${longest}${logged(3)}`))
      yield* eventually(Effect.sync(() => seen.length === 4))
      assert.deepStrictEqual(seen.map((data) => typeof data === "string" ? "longest" : data), [1, 2, "longest", 3])
      assert.deepStrictEqual(bad, ["TooLarge"])
      yield* stillServed(session)
    })

  return topic("bytes for the client", [
    law("[STD-02] law 7: lines that are not JSON affect only themselves, in the same chunk as messages", function*() {
      const { bad, seen, served, session } = yield* listen
      yield* inject(
        served,
        joined([bytesOf(logged(1)), ...noJson.flatMap((line, index) => [line, bytesOf(logged(index + 2))])])
      )
      yield* eventually(Effect.sync(() => seen.length === 4))
      assert.deepStrictEqual(seen, [1, 2, 3, 4])
      assert.deepStrictEqual(bad, ["NotJson", "NotJson", "NotJson"])
      const { structuredContent } = yield* session.callTool("echo", { value: "still here" })
      assert.deepStrictEqual(structuredContent, { value: "still here" })
    }),

    law("[TRN-01] [STD-02] law 7: messages in any chunks arrive completely and in order", function*() {
      const { bad, seen, served } = yield* listen
      const outcome = yield* Arbitrary.checkEffect(
        Arbitrary.schema(Schema.Struct({
          values: Schema.NonEmptyArray(Schema.String),
          places: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })))
        })),
        ({ places, values }) =>
          Effect.gen(function*() {
            seen.length = 0
            const data = values.map((value) => `aé漢🙂${value}`)
            const bytes = bytesOf(data.map((datum) => logged(datum)).join(""))
            for (const piece of piecesOf(bytes, places)) yield* Effect.andThen(inject(served, piece), apart)
            yield* eventually(Effect.sync(() => seen.length >= data.length))
            return JSON.stringify(seen) === JSON.stringify(data)
          }),
        { runs }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
      assert.deepStrictEqual(bad, [])
    }),

    law("[TRN-01] [STD-02] a message may arrive byte by byte", function*() {
      const { bad, seen, served } = yield* listen
      for (const byte of bytesOf(logged("aé漢🙂"))) yield* Effect.andThen(inject(served, Uint8Array.of(byte)), apart)
      yield* eventually(Effect.sync(() => seen.length === 1))
      assert.deepStrictEqual(seen, ["aé漢🙂"])
      assert.deepStrictEqual(bad, [])
    }),

    ...maxMessageBytes === undefined ? [] : [oversized(maxMessageBytes)]
  ])
}

/** Returns the laws of possibly invalid bytes for the server. */
export const serverFraming = <Served extends ClientEnd>(
  { call, connectReady, serve }: LawContext<Served>,
  inject: NonNullable<SubjectFaults<Served>["injectToServer"]>
): ReadonlyArray<Timeless> => {
  const ready = Effect.gen(function*() {
    const served = yield* serve
    const peer = yield* connectReady(served)
    // Waits until earlier messages were read, so that they are not mixed with injected bytes.
    yield* peer.send(call("ready", "unit"))
    yield* peer.response
    return { peer, served }
  })

  return topic("bytes for the server", [
    law("[STD-02] law 7: a line that is not JSON is answered with an error, and affects only itself", function*() {
      const { peer, served } = yield* ready
      yield* inject(
        served,
        joined([
          bytesOf(lineOf(call(1, "echo", { value: 1 }))),
          ...noJson,
          bytesOf(lineOf(call(2, "echo", { value: 2 })))
        ])
      )
      const answers: Array<JsonRpc.Response> = []
      while (answers.length < 2 + noJson.length) answers.push(yield* peer.response)
      const byId = new Map(answers.map((response) => [response.id, structured(response)]))
      assert.deepStrictEqual([byId.get(1), byId.get(2)], [{ value: 1 }, { value: 2 }])
      assert.deepStrictEqual(
        answers.filter((response) => JsonRpc.isFailure(response)).map(errorCode),
        noJson.map(() => -32700)
      )
    }),

    law("[TRN-01] [STD-02] a request may arrive byte by byte", function*() {
      const { peer, served } = yield* ready
      const line = bytesOf(lineOf(call(1, "echo", { value: "aé漢🙂" })))
      for (const byte of line) yield* Effect.andThen(inject(served, Uint8Array.of(byte)), apart)
      assert.deepStrictEqual(structured(yield* peer.response), { value: "aé漢🙂" })
    })
  ])
}
