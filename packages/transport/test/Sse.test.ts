import type { Transport } from "@effect-mcp/session"
import { Sse } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as EffectSse from "effect/encoding/Sse"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

type Frame = Result.Result<Sse.Event, Transport.FrameError>

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const read = (chunks: ReadonlyArray<Uint8Array>, options?: Sse.EventDecoderOptions) => {
  const frames: Array<Frame> = []
  const sizes: Array<number> = []
  const decoder = Sse.decoder((frame, bytes) => {
    frames.push(frame)
    sizes.push(bytes)
  }, options)
  for (const chunk of chunks) decoder.push(chunk)
  return { frames, sizes, lastEventId: decoder.lastEventId(), retryMillis: decoder.retryMillis() }
}

const decode = (text: string, options?: Sse.EventDecoderOptions): ReadonlyArray<Frame> =>
  read([bytesOf(text)], options).frames

const event = (data: string, more?: Partial<Sse.Event>): Frame =>
  Result.succeed({ data, id: undefined, event: "message", retry: undefined, ...more })

const tooLarge = (limitBytes: number): Frame => Result.fail({ _tag: "TooLarge", limitBytes })

const cut = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let start = 0
  for (let index = 0; start < bytes.length; index++) {
    const size = sizes.length === 0 ? bytes.length : sizes[index % sizes.length] ?? 1
    chunks.push(bytes.slice(start, start + size))
    start += size
  }
  return chunks
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))

const Character = Schema.Literals(["a", "é", "漢", "😀", ":", " ", "{", "\u2028", "\u0000", "\uFEFF", "7"])
const Text = Schema.Array(Character)
const Sizes = Schema.Array(Schema.Literals([0, 1, 2, 3, 5, 17, 64, 250]))
const Ending = Schema.Literals(["\n", "\r", "\r\n"])

const Line = Schema.Struct({
  field: Schema.Literals([
    "data",
    "data",
    "data",
    "id",
    "event",
    "retry",
    "",
    "other",
    "dat",
    "datas",
    "blank",
    "blank"
  ]),
  separator: Schema.Literals([":", ": ", ":  ", ""]),
  value: Schema.Union([Text, Schema.Literals(["50", "1.", "x".repeat(200)])]),
  ending: Ending
})

const lineText = (line: typeof Line.Type): string =>
  line.field === "blank"
    ? line.ending
    : `${line.field}${line.separator}${
      line.separator === "" ? "" : typeof line.value === "string" ? line.value : line.value.join("")
    }${line.ending}`

/** Returns the events of a whole text: the rules of the HTML standard in their simplest form. */
const eventsIn = (text: string, limitBytes: number): ReadonlyArray<Frame> => {
  const frames: Array<Frame> = []
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/).slice(0, -1)
  let data: Array<string> = []
  let id: string | undefined
  let type = ""
  let retry: number | undefined
  for (const line of lines) {
    if (line === "") {
      const whole = data.join("\n")
      if (bytesOf(whole).length > limitBytes) frames.push(tooLarge(limitBytes))
      else if (data.length > 0) frames.push(event(whole, { id, event: type === "" ? "message" : type, retry }))
      data = []
      id = undefined
      type = ""
      retry = undefined
      continue
    }
    // A field above the limit is ignored. Data of that length makes its event too large.
    if (bytesOf(line).length > limitBytes + 9 && !line.startsWith("data:")) continue
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === "data") data.push(value)
    if (name === "event") type = value
    if (name === "id" && !value.includes("\0")) id = value
    if (name === "retry" && /^[0-9]+$/.test(value)) retry = Number(value)
  }
  // An event is too large before it has ended.
  if (bytesOf(data.join("\n")).length > limitBytes) frames.push(tooLarge(limitBytes))
  return frames
}

const limitBytes = 150

describe("the decoder of events", () => {
  it.effect.prop(
    "[law 7] decodes events by the HTML standard, wherever the chunks begin and end",
    { lines: Schema.Array(Line), marked: Schema.Boolean, sizes: Sizes },
    ({ lines, marked, sizes }) =>
      Effect.sync(() => {
        const text = `${marked ? "\uFEFF" : ""}${lines.map(lineText).join("")}`
        const positive = sizes.some((size) => size > 0) ? sizes : []
        assert.deepStrictEqual(
          read(cut(bytesOf(text), positive), { maxEventBytes: limitBytes }).frames,
          eventsIn(text, limitBytes)
        )
      }),
    { arbitrary: { runs: 2_000 } }
  )

  it.effect.prop(
    "agrees with the parser of effect/encoding/Sse on streams within both limits",
    { lines: Schema.Array(Line), marked: Schema.Boolean },
    ({ lines, marked }) =>
      Effect.sync(() => {
        const text = `${marked ? "\uFEFF" : ""}${lines.map(lineText).join("")}`
        const theirs: Array<unknown> = []
        EffectSse.makeParser((one) => {
          if (one._tag === "Event") theirs.push({ data: one.data, event: one.event, id: one.id ?? "" })
        }).feed(text)
        const ours: Array<unknown> = []
        const decoder = Sse.decoder((frame) => {
          const { data, event } = Result.getOrThrow(frame)
          ours.push({ data, event, id: decoder.lastEventId() })
        })
        decoder.push(bytesOf(text))
        assert.deepStrictEqual(ours, theirs)
      }),
    { arbitrary: { runs: 1_000 } }
  )

  it("accepts LF, CR and CRLF as line ends, also at the edge of a chunk", () => {
    const expected = [event("1"), event("2"), event("3\n4")]
    for (const ending of ["\n", "\r", "\r\n"]) {
      const bytes = bytesOf(["data: 1", "", "data:2", "", "data: 3", "data: 4", "", ""].join(ending))
      assert.deepStrictEqual(read([bytes]).frames, expected)
      assert.deepStrictEqual(read(cut(bytes, [1])).frames, expected)
    }
    assert.deepStrictEqual(decode("data: 1\r\n\ndata:2\n\r\ndata: 3\rdata: 4\n\r"), expected)
  })

  it("ignores a byte order mark at the start, comments, unknown fields and blocks without data", () => {
    assert.deepStrictEqual(decode("\uFEFF: hello\n\n:\nother: x\n\nevent: e\n\ndata: 1\n\n"), [event("1")])
    assert.deepStrictEqual(decode("data: \uFEFF1\n\n\uFEFFdata: 2\n\n"), [event("\uFEFF1")])
  })

  it("removes one space before a value, and reads a field without a colon as empty", () => {
    assert.deepStrictEqual(decode("data:  1\n\ndata\n\ndata\ndata:\n\n"), [event(" 1"), event(""), event("\n")])
  })

  it("decodes characters that are split between chunks", () => {
    assert.deepStrictEqual(read(cut(bytesOf("data: 漢😀é\n\n"), [1])).frames, [event("漢😀é")])
  })

  it("joins all data lines of an event, also many and empty ones", () => {
    for (const count of [2, 1023, 1024, 1025, 1026, 5000]) {
      const lines = Array.from({ length: count }, (_, index) => index % 3 === 0 ? "" : String(index))
      const written = lines.map((line) => `data:${line}\n`).join("")
      assert.deepStrictEqual(decode(`${written}\ndata: next\n\n`), [event(lines.join("\n")), event("next")])
    }
  })

  it("passes the number of data bytes with each event", () => {
    assert.deepStrictEqual(read([bytesOf("id: 1\ndata: é\ndata: 1\n\ndata\n\n")]).sizes, [4, 0])
  })

  it("keeps the last event id until the next id, also of an event without data or one that is too large", () => {
    const text = "id: 1\ndata: x\n\ndata: y\n\nid: 2\n\nid: 3\ndata: too large\n\n"
    const outcome = read([bytesOf(text)], { maxEventBytes: 4 })
    assert.deepStrictEqual(outcome.frames, [event("x", { id: "1" }), event("y"), tooLarge(4)])
    assert.strictEqual(outcome.lastEventId, "3")
    assert.strictEqual(read([bytesOf("id: 2\ndata: too large\nid: 3\n\n")], { maxEventBytes: 4 }).lastEventId, "3")
    assert.strictEqual(read([bytesOf("id: 1\n\nid\n\n")]).lastEventId, "")
  })

  it("takes an id only when its event is complete, and never one with a NUL", () => {
    assert.strictEqual(read([bytesOf("id: 1\ndata: x\n\nid: 2\ndata: y\n")]).lastEventId, "1")
    assert.strictEqual(read([bytesOf("id: 1\n\nid: 2\0\n\n")]).lastEventId, "1")
  })

  it("takes a retry field at once, and only if it is all digits", () => {
    assert.strictEqual(read([bytesOf("retry: 3000\n")]).retryMillis, 3_000)
    assert.strictEqual(read([bytesOf("retry: 3000\n\nretry: 5s\n\nretry: -1\n\nretry\n\n")]).retryMillis, 3_000)
    assert.deepStrictEqual(decode("retry: 10\ndata: 1\n\ndata: 2\n\n"), [event("1", { retry: 10 }), event("2")])
    assert.strictEqual(read([bytesOf(`retry: ${"9".repeat(400)}\n`)]).retryMillis, Number.MAX_SAFE_INTEGER)
  })

  it("delivers an event with an id and empty data", () => {
    assert.deepStrictEqual(decode("id: 1\ndata: \n\n"), [event("", { id: "1" })])
  })

  it("drops an event that is incomplete at the end", () => {
    assert.deepStrictEqual(decode("data: 1\n\ndata: 2\n"), [event("1")])
    assert.deepStrictEqual(decode("data: 1\n\ndata: {}"), [event("1")])
  })

  it("[law 7] reports an event above maxEventBytes once, as soon as it exceeds it, and decodes its neighbours", () => {
    const frames: Array<Frame> = []
    const decoder = Sse.decoder((frame) => frames.push(frame), { maxEventBytes: 8 })
    decoder.push(bytesOf("data: 12345678\n\nid: 9\ndata: 123456789012"))
    assert.deepStrictEqual(frames, [event("12345678"), tooLarge(8)])
    decoder.push(bytesOf("0".repeat(100)))
    decoder.push(bytesOf("0\ndata: 1\ndata: 2345678901\n\ndata: 7\n\n"))
    assert.deepStrictEqual(frames, [event("12345678"), tooLarge(8), event("7")])
    assert.deepStrictEqual(decode("data: 1234\ndata: 5678\n\ndata: 7\n\n", { maxEventBytes: 8 }), [
      tooLarge(8),
      event("7")
    ])
    assert.deepStrictEqual(decode("data: 123\ndata: 5678\n\ndata: 7\n\n", { maxEventBytes: 8 }), [
      event("123\n5678"),
      event("7")
    ])
  })

  it("ignores a comment, and any field except data, above the limit", () => {
    for (const name of ["", "id", "other", "datas"]) {
      const bytes = bytesOf(`data: 1\n${name}:${"x".repeat(100)}\n\ndata: 2\n\n`)
      for (const sizes of [[], [1], [7]]) {
        assert.deepStrictEqual(read(cut(bytes, sizes), { maxEventBytes: 8 }).frames, [event("1"), event("2")])
      }
    }
  })

  it("[law 7] reports data that is not UTF-8, and decodes its neighbours", () => {
    const bytes = joined([
      bytesOf("data: 1\n\nid: 2\ndata: \"x"),
      Uint8Array.of(0xFF, 0x22),
      bytesOf("\ndata: more\n\ndata: 3\n\n")
    ])
    const outcome = read([bytes])
    const notJson: Frame = Result.fail({ _tag: "NotJson", text: "\"x\uFFFD\"" })
    assert.deepStrictEqual(outcome.frames, [event("1"), notJson, event("3")])
    assert.strictEqual(outcome.lastEventId, "2")
    assert.deepStrictEqual(read(cut(bytes, [1])).frames, outcome.frames)
  })

  it("decodes events of up to 4 MiB by default", () => {
    const limit = 4 * 1024 * 1024
    assert.strictEqual(Sse.defaultMaxEventBytes, limit)
    const fits = "x".repeat(limit)
    assert.deepStrictEqual(decode(`data: ${fits}\n\ndata: ${fits}x\n\ndata: 1\n\n`), [
      event(fits),
      tooLarge(limit),
      event("1")
    ])
  })

  it("copies what it keeps of a chunk, so that the caller can reuse the memory", () => {
    const frames: Array<Frame> = []
    const decoder = Sse.decoder((frame) => frames.push(frame))
    const chunk = bytesOf("data: [1,2")
    decoder.push(chunk)
    chunk.fill(0)
    decoder.push(bytesOf("]\n\n"))
    assert.deepStrictEqual(frames, [event("[1,2]")])
  })

  it("keeps nothing of an event of 64 MiB beyond its limit, in one line or in many", () => {
    for (const chunk of [bytesOf("x".repeat(64 * 1024)), bytesOf(`${"x".repeat(60 * 1024)}\ndata: `)]) {
      const frames: Array<Frame> = []
      const decoder = Sse.decoder((frame) => frames.push(frame))
      decoder.push(bytesOf("data: "))
      const before = process.memoryUsage().arrayBuffers
      let most = 0
      for (let index = 0; index < 1_024; index++) {
        decoder.push(chunk)
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }
      decoder.push(bytesOf("\n\ndata: 1\n\n"))
      assert.deepStrictEqual(frames, [tooLarge(Sse.defaultMaxEventBytes), event("1")])
      assert.isBelow(most, 16 * 1024 * 1024)
    }
  })
})

describe("the encoder of events", () => {
  it.effect.prop(
    "encoded events decode to the same events, between comments and retry fields, and in chunks of any size",
    {
      events: Schema.Array(Schema.Struct({ id: Schema.Union([Schema.Undefined, Text]), data: Text })),
      sizes: Sizes
    },
    ({ events, sizes }) =>
      Effect.sync(() => {
        const written = events.map(({ data, id }) => ({ id: id?.join("").replaceAll("\0", ""), data: data.join("") }))
        const text = written.map(({ data, id }) =>
          `${Sse.comment("data: no\n\r")}${Sse.event(id, data)}${Sse.retry(5)}`
        ).join("")
        const positive = sizes.some((size) => size > 0) ? sizes : []
        const outcome = read(cut(bytesOf(text), positive))
        assert.deepStrictEqual(outcome.frames, written.map(({ data, id }) => event(data, { id })))
        if (written.length > 0) assert.strictEqual(outcome.retryMillis, 5)
      }),
    { arbitrary: { runs: 500 } }
  )

  it("encodes JSON on one line, and other data with a data line for each line", () => {
    assert.strictEqual(
      Sse.event("a", JSON.stringify({ text: "x\ny" })),
      "id: a\ndata: {\"text\":\"x\\ny\"}\n\n"
    )
    assert.deepStrictEqual(decode(Sse.event(undefined, "1\r\n2\r3\n4")), [event("1\n2\n3\n4")])
  })

  it("encodes the type of an event, and leaves out a type with a line break", () => {
    assert.deepStrictEqual(decode(Sse.event("7", "/messages", "endpoint")), [
      event("/messages", { id: "7", event: "endpoint" })
    ])
    for (const type of ["a\nb", "a\rb", "\n"]) {
      assert.strictEqual(Sse.event(undefined, "1", type), "data: 1\n\n")
    }
  })

  it("leaves out an id with a line break or a NUL", () => {
    for (const id of ["1\ndata: x", "1\r", "1\0"]) {
      assert.strictEqual(Sse.event(id, "1"), "data: 1\n\n")
    }
  })
})
