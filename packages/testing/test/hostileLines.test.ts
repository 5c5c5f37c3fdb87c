import { ExactJson, JsonRpc, Revision } from "@effect-mcp/protocol"
import { ServerSession, Transport } from "@effect-mcp/session"
import { HostileBytes, HostileText, RequestIds } from "@effect-mcp/testing/arbitrary"
import { JsonLines } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { info, serverHandlers, serverOptions } from "./support/everything.ts"
import { isUnpolluted, settled, unpaid, unreadable } from "./support/frames.ts"
import * as OverLines from "./support/overLines.ts"
import { hold, holds } from "./support/properties.ts"

const encoder = new TextEncoder()

/**
 * Returns whether a value has more arrays, objects and members than a message may have. Counts without recursion,
 * because the value may be nested deeply.
 */
const isTooComplex = (value: unknown): boolean => {
  const waiting = [value]
  let nodes = 0
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== "object" || next === null) continue
    const inner: ReadonlyArray<unknown> = Object.values(next)
    nodes += 1 + (Array.isArray(next) ? 0 : inner.length)
    for (const one of inner) waiting.push(one)
  }
  return nodes > JsonLines.defaultMaxMessageNodes
}

/** Returns the frames of a line, by the platform's decoder and parser alone. */
const read = (line: Uint8Array, isFirst: boolean): ReadonlyArray<unknown> => {
  const unmarked = isFirst && line[0] === 0xEF && line[1] === 0xBB && line[2] === 0xBF ? line.subarray(3) : line
  if (unmarked.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0D)) return []
  if (line.length > JsonLines.defaultMaxMessageBytes) return [unreadable]
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(unmarked))
    return [isTooComplex(value) ? unreadable : value]
  } catch {
    return [unreadable]
  }
}

/**
 * Returns the integers of a JSON text that a number does not hold, by the platform's parser alone; `undefined` if the
 * text is too deep for it. The digits of a text that is one number are not kept.
 */
const largeIntegers = (text: string): ReadonlyArray<string> | undefined => {
  const found: Array<string> = []
  try {
    const parsed: unknown = JSON.parse(text, (...[, value, context]: ReadonlyArray<unknown>) => {
      const { source } = Object(context)
      if (/^-?[0-9]{16,128}$/.test(String(source)) && BigInt(source) !== BigInt(Number(source))) found.push(source)
      return value
    })
    return typeof parsed === "object" ? found : []
  } catch {
    return undefined
  }
}

/** Returns whether the frame of a line has the digits of the line. */
const hasDigits = (line: Uint8Array): boolean => {
  const [frame] = decoded(pieces([line], Number.MAX_SAFE_INTEGER))
  if (frame === undefined || frame === unreadable) return true
  const expected = largeIntegers(new TextDecoder().decode(line))
  const changed = ExactJson.changedIn(frame)
  if (changed === undefined) return expected === undefined || expected.length === 0
  return expected === undefined || expected.includes(changed.digits)
}

/** Returns the bytes of lines, each with its line feed, in pieces of this size. */
const pieces = (lines: ReadonlyArray<Uint8Array>, size: number): ReadonlyArray<Uint8Array> => {
  const all = new Uint8Array(lines.reduce((total, line) => total + line.length + 1, 0))
  let at = 0
  for (const line of lines) {
    all.set(line, at)
    at += line.length
    all[at++] = 0x0A
  }
  // Pieces of a large line are larger, because there would be millions of them.
  const width = Math.max(size, Math.ceil(all.length / 1_000))
  return Array.from(
    { length: Math.ceil(all.length / width) },
    (_, index) => all.subarray(index * width, (index + 1) * width)
  )
}

/** Returns the frames that the decoder finds. */
const decoded = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<unknown> => {
  const frames: Array<unknown> = []
  const decoder = JsonLines.decoder((frame) => {
    frames.push(Result.isSuccess(frame) ? frame.success : unreadable)
  })
  for (const chunk of chunks) decoder.push(chunk)
  decoder.finish()
  return frames
}

const size = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })))

const sidesOf = Revision.legacy.map((revision) => ({ revision }))

describe.each(sidesOf)("lines in $revision", ({ revision }) => {
  const lines = Arbitrary.array(HostileBytes.line("client", revision), { maxLength: 8 })

  it.effect("[MSG-02] each hostile line is a frame, is unreadable or is blank, however the bytes are cut", () =>
    holds(Arbitrary.all([lines, size]), ([lines, size]) => {
      const expected = lines.flatMap((line, index) => read(line, index === 0))
      const whole = decoded(pieces(lines, Number.MAX_SAFE_INTEGER))
      if (!isSame(whole, expected)) return hold("a line is read as something else")
      if (!lines.every(hasDigits)) return hold("an integer of a line lost its digits")
      return hold(isSame(decoded(pieces(lines, size)), whole) ? undefined : `cut by ${size} it is something else`)
    }, 200))

  it.effect("[MSG-02] [MSG-03] [MSG-12] a server answers each request of hostile lines once, and continues", () =>
    holds(Arbitrary.all([lines, size]), ([lines, size]) =>
      Effect.gen(function*() {
        const { received, say, wire } = yield* served(revision)
        for (const piece of pieces(lines, size)) yield* wire.feed(piece)
        yield* Effect.repeat(Effect.yieldNow, { times: 3_000 })
        const sent = lines.flatMap((line): ReadonlyArray<unknown> => read(line, false))
        yield* hold(unpaid(sent, yield* received, "server", revision))
        yield* hold(isUnpolluted() ? undefined : "Object.prototype is polluted")
        yield* say(JSON.stringify(JsonRpc.request("ping after all", "ping", undefined)))
        yield* say(JSON.stringify(JsonRpc.request("call after all", "tools/call", { name: "still here" })))
        const answers = JSON.stringify(yield* received)
        return yield* hold(
          answers.includes("ping after all") && answers.includes("still here") ? undefined : `only ${answers}`
        )
      }).pipe(Effect.scoped), 60))

  it.effect("[MSG-03] [MSG-07] a call with any arguments has one response", () =>
    holds(Arbitrary.all([RequestIds.requestId, HostileText.json]), ([id, harm]) =>
      Effect.gen(function*() {
        const { received, say } = yield* served(revision)
        const line = `{"jsonrpc":"2.0","id":${
          JSON.stringify(id)
        },"method":"tools/call","params":{"name":"echo","arguments":{"a":${harm}}}}`
        yield* say(line)
        const answers = yield* received
        const [answer] = answers
        // A message that was not parsed is rejected without an id.
        if (isTooComplex(JSON.parse(line))) {
          const isRefused = answer !== undefined && "error" in answer && (answer.id ?? null) === null
          return yield* hold(answers.length === 1 && isRefused ? undefined : `${answers.length} answers`)
        }
        if (answers.length !== 1 || answer === undefined || !("id" in answer) || answer.id !== id) {
          return yield* hold(`${answers.length} answers`)
        }
        // The depth that the platform can write depends on the stack. A value near it may lead to an error, and to
        // nothing else.
        if ("error" in answer) return yield* hold(isDeep.test(harm) ? undefined : answer.error.message)
        const { structuredContent } = Object("result" in answer ? answer.result : {})
        return yield* hold(
          shape(structuredContent) === shape({ a: JSON.parse(harm) }) ? undefined : "something else was said back"
        )
      }).pipe(Effect.scoped), 200))
})

/** Starts a server over lines, and performs the handshake. */
const served = Effect.fnUntraced(function*(protocolVersion: Revision.LegacyRevision) {
  const wire = yield* OverLines.make
  yield* ServerSession.make(serverHandlers, serverOptions).pipe(
    Effect.provideService(Transport.Transport, wire.transport)
  )
  const say = (line: string) => wire.feed(encoder.encode(`${line}\n`))
  /** Returns the frames that the server has sent, one for each line. */
  const received = Effect.map(
    Effect.andThen(settled, wire.written),
    (lines) => lines.flatMap((line) => JsonRpc.messages(JSON.parse(line)))
  )
  yield* say(JSON.stringify(JsonRpc.request(0, "initialize", { protocolVersion, capabilities: {}, clientInfo: info })))
  yield* say(JSON.stringify(JsonRpc.notification("notifications/initialized")))
  yield* received
  return { received, say, wire }
})

/** A thousand levels or more. */
const isDeep = /(?:\[|\{"(?:a|__proto__)":){1000}/

/** Returns whether values are equal, also if they are too deep for a comparison. */
const isSame = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((value, index) => shape(value) === shape(other[index]))

const shape = (value: unknown): string => {
  if (value === unreadable) return "unreadable"
  try {
    // Parsed by the platform, which rounds the digits that the decoder keeps. `hasDigits` compares them.
    return `${typeof value} ${JSON.stringify(JSON.parse(JSON.stringify(value)))}`
  } catch {
    return "too deep"
  }
}

it.effect("[MSG-02] every kind of hostile line is generated", () =>
  Effect.gen(function*() {
    const lines = yield* Arbitrary.sampleEffect(HostileText.line("client", "2025-11-25"), { count: 3_000, seed: 1 })
    const kinds: { readonly [kind: string]: (line: string) => boolean } = {
      "nothing": (line) => line === "",
      "half a message": (line) => line.startsWith("{\"jsonrpc\":\"2.0\"") && !line.endsWith("}"),
      "two messages": (line) => line.includes("}{\"jsonrpc\":\"2.0\""),
      "a name that is said twice": (line) => /"jsonrpc":[^,]+,.*"jsonrpc":/.test(line),
      "a number that is too large": (line) => line.includes("1e400"),
      "a number that loses its last digit": (line) => line.includes("9007199254740993"),
      "a prototype": (line) => line.includes("\"__proto__\":{"),
      "a constructor": (line) => line.includes("\"constructor\":{\"prototype\""),
      "great depth": (line) => line.includes("[".repeat(5_000)),
      "great length": (line) => line.length > 100_000,
      "a carriage return": (line) => line.includes("\r"),
      "a line separator": (line) => line.includes("\u2028"),
      "a byte order mark": (line) => line.startsWith("\uFEFF"),
      "half a pair": (line) => line.includes("\\ud800"),
      "no JSON": (line) => line === "NaN"
    }
    assert.deepStrictEqual(Object.keys(kinds).filter((kind) => !lines.some(kinds[kind] ?? (() => false))), [])
    assert.isFalse(lines.some((line) => line.includes("\n")))

    const bytes = yield* Arbitrary.sampleEffect(HostileBytes.line("client", "2025-11-25"), { count: 1_000, seed: 1 })
    assert.isTrue(
      bytes.some((line) => Result.isFailure(Result.try(() => new TextDecoder("utf-8", { fatal: true }).decode(line))))
    )
    assert.isTrue(bytes.some((line) => line.at(-1) === 0x0D))
    assert.isFalse(bytes.some((line) => line.includes(0x0A)))
  }))

it.effect("a seed reproduces the lines", () =>
  Effect.gen(function*() {
    const draw = Arbitrary.sampleEffect(
      Arbitrary.all([HostileText.line("server", "2025-03-26"), HostileBytes.line("server", "2025-03-26")]),
      { count: 100, seed: "again" }
    )
    assert.deepStrictEqual(yield* draw, yield* draw)
  }))

it.effect("a hostile line shrinks to the least failing depth", () =>
  Effect.gen(function*() {
    const outcome = yield* Arbitrary.checkEffect(HostileText.json, (text) => !text.includes("[".repeat(100)), {
      runs: 2_000,
      seed: 1,
      maxShrinks: 2_000
    })
    assert.strictEqual(outcome._tag, "Falsified")
    if (outcome._tag !== "Falsified") return
    assert.strictEqual(outcome.shrunkInput, "[".repeat(100) + "]".repeat(100))
  }))
