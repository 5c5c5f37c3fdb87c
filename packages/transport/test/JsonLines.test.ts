import type { Transport } from "@effect-mcp/session"
import { JsonLines } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

type Frame = Result.Result<unknown, Transport.FrameError>

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const decode = (chunks: ReadonlyArray<Uint8Array>, options?: JsonLines.DecoderOptions): ReadonlyArray<Frame> => {
  const frames: Array<Frame> = []
  const decoder = JsonLines.decoder((frame) => frames.push(frame), options)
  for (const chunk of chunks) decoder.push(chunk)
  decoder.finish()
  return frames
}

const notJson = (text: string): Frame => Result.fail({ _tag: "NotJson", text })
const tooLarge = (limitBytes: number): Frame => Result.fail({ _tag: "TooLarge", limitBytes })

const Character = Schema.Literals(["a", "é", "漢", "😀", "\"", "\\", "\r", " ", "{", "\u2028", "\u0000", "\uFEFF"])

const Line = Schema.Union([
  Schema.TaggedStruct("Json", { text: Schema.Array(Character), id: Schema.Int }),
  Schema.TaggedStruct("Junk", { text: Schema.Array(Character) }),
  Schema.TaggedStruct("Bytes", { bytes: Schema.Array(Schema.Literals([0x80, 0xC3, 0xE6, 0xF0, 0xFF, 0x61])) }),
  Schema.TaggedStruct("Blank", { text: Schema.Array(Schema.Literals([" ", "\t"])) }),
  Schema.TaggedStruct("Long", { over: Schema.Literals([-1, 0, 1, 500]) })
])

const limitBytes = 100

const lineBytes = (line: typeof Line.Type): Uint8Array => {
  switch (line._tag) {
    case "Json":
      return bytesOf(JSON.stringify({ id: line.id, text: line.text.join("") }))
    case "Junk":
    case "Blank":
      return bytesOf(line.text.join(""))
    case "Bytes":
      return Uint8Array.from(line.bytes)
    case "Long":
      return bytesOf(JSON.stringify("x".repeat(limitBytes - 2 + line.over)))
  }
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))

/** Returns the frames of one line: the rules in their simplest form. */
const framesOf = (line: Uint8Array, isFirst: boolean): ReadonlyArray<Frame> => {
  if (line.length > limitBytes) return [tooLarge(limitBytes)]
  const unmarked = isFirst && line[0] === 0xEF && line[1] === 0xBB && line[2] === 0xBF ? line.subarray(3) : line
  const bare = unmarked.at(-1) === 0x0D ? unmarked.subarray(0, -1) : unmarked
  if ([...bare].every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0D)) return []
  try {
    return [Result.succeed(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bare)))]
  } catch {
    return [notJson(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bare).slice(0, 200))]
  }
}

const splitLines = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const lines: Array<Uint8Array> = []
  let start = 0
  bytes.forEach((byte, index) => {
    if (byte !== 0x0A) return
    lines.push(bytes.subarray(start, index))
    start = index + 1
  })
  return start < bytes.length ? [...lines, bytes.subarray(start)] : lines
}

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

describe("the decoder of lines", () => {
  it.effect.prop(
    "[STD-02] [law 7] decodes each line by itself, wherever the chunks begin and end",
    {
      lines: Schema.Array(Schema.Struct({ line: Line, ending: Schema.Literals(["\n", "\r\n"]) })),
      marked: Schema.Boolean,
      unfinished: Schema.Union([Schema.Undefined, Line]),
      sizes: Schema.Array(Schema.Literals([1, 2, 3, 5, 17, 64, 250]))
    },
    ({ lines, marked, sizes, unfinished }) =>
      Effect.sync(() => {
        const bytes = joined([
          marked ? Uint8Array.of(0xEF, 0xBB, 0xBF) : new Uint8Array(0),
          ...lines.flatMap(({ ending, line }) => [lineBytes(line), bytesOf(ending)]),
          unfinished === undefined ? new Uint8Array(0) : lineBytes(unfinished)
        ])
        const expected = splitLines(bytes).flatMap((line, index) => framesOf(line, index === 0))
        assert.deepStrictEqual(decode(cut(bytes, sizes), { maxMessageBytes: limitBytes }), expected)
      }),
    { arbitrary: { runs: 1_000 } }
  )

  it("[STD-02] decodes several messages in one chunk, and one message in several chunks", () => {
    const bytes = bytesOf("{\"id\":1}\n{\"id\":2}\n{\"text\":\"漢😀\"}\n")
    const frames = [Result.succeed({ id: 1 }), Result.succeed({ id: 2 }), Result.succeed({ text: "漢😀" })]
    assert.deepStrictEqual(decode([bytes]), frames)
    assert.deepStrictEqual(decode(cut(bytes, [1])), frames)
  })

  it("[law 7] reports a line that is not JSON or not UTF-8, and decodes the next one", () => {
    const bytes = joined([
      bytesOf("1\nnpm warn deprecated\n2\n"),
      Uint8Array.of(0x22, 0xFF, 0x22, 0x0A),
      bytesOf("3\n{\"half\":\n4\n")
    ])
    assert.deepStrictEqual(decode([bytes]), [
      Result.succeed(1),
      notJson("npm warn deprecated"),
      Result.succeed(2),
      notJson("\"\uFFFD\""),
      Result.succeed(3),
      notJson("{\"half\":"),
      Result.succeed(4)
    ])
  })

  it("ignores blank lines, carriage returns and a byte order mark at the start", () => {
    assert.deepStrictEqual(decode([bytesOf("\uFEFF1\r\n\r\n \t\n\n2\n")]), [Result.succeed(1), Result.succeed(2)])
    assert.deepStrictEqual(decode([bytesOf("1\n\uFEFF2\n")]), [Result.succeed(1), notJson("\uFEFF2")])
  })

  it("delivers a complete last line without a newline, and reports an incomplete one", () => {
    assert.deepStrictEqual(decode([bytesOf("1\n{\"id\":2}")]), [Result.succeed(1), Result.succeed({ id: 2 })])
    assert.deepStrictEqual(decode([bytesOf("1\n{\"id\":")]), [Result.succeed(1), notJson("{\"id\":")])
  })

  it("shows at most 200 characters of an invalid line, and no half surrogate pair", () => {
    assert.deepStrictEqual(decode([bytesOf(`${"x".repeat(1_000)}\n`)]), [notJson("x".repeat(200))])
    assert.deepStrictEqual(decode([bytesOf(`x${"😀".repeat(500)}\n`)]), [notJson(`x${"😀".repeat(99)}`)])
  })

  it("reports a line above maxMessageBytes once, as soon as it exceeds it, and decodes the next", () => {
    const frames: Array<Frame> = []
    const decoder = JsonLines.decoder((frame) => frames.push(frame), { maxMessageBytes: 8 })
    decoder.push(bytesOf("12345678\n123456789"))
    assert.deepStrictEqual(frames, [Result.succeed(12345678), tooLarge(8)])
    decoder.push(bytesOf("0".repeat(100)))
    decoder.push(bytesOf("0\n7\n"))
    assert.deepStrictEqual(frames, [Result.succeed(12345678), tooLarge(8), Result.succeed(7)])
  })

  it("decodes lines of up to 4 MiB by default", () => {
    const limit = 4 * 1024 * 1024
    assert.strictEqual(JsonLines.defaultMaxMessageBytes, limit)
    const fits = JSON.stringify("x".repeat(limit - 2))
    assert.deepStrictEqual(decode([bytesOf(`${fits}\n${fits} \n1\n`)]), [
      Result.succeed("x".repeat(limit - 2)),
      tooLarge(limit),
      Result.succeed(1)
    ])
  })

  it("copies what it keeps of a chunk, so that the caller can reuse the memory", () => {
    const frames: Array<Frame> = []
    const decoder = JsonLines.decoder((frame) => frames.push(frame))
    const chunk = bytesOf("[1,2")
    decoder.push(chunk)
    chunk.fill(0)
    decoder.push(bytesOf("]\n"))
    assert.deepStrictEqual(frames, [Result.succeed([1, 2])])
  })

  it("keeps nothing of a line of 64 MiB beyond its limit", () => {
    const frames: Array<Frame> = []
    const decoder = JsonLines.decoder((frame) => frames.push(frame))
    const chunk = new Uint8Array(64 * 1024).fill(0x78)
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    for (let index = 0; index < 1_024; index++) {
      decoder.push(chunk)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    decoder.push(bytesOf("\n1\n"))
    assert.deepStrictEqual(frames, [tooLarge(JsonLines.defaultMaxMessageBytes), Result.succeed(1)])
    // The growing buffer leaves at most 4 + 2 + 1 + … MiB to the garbage collector before the line is skipped.
    assert.isBelow(most, 9 * 1024 * 1024)
  })

  it("decodes a line of 1 MB in chunks of 7 bytes", () => {
    const bytes = bytesOf(`${JSON.stringify("x".repeat(1_000_000))}\n`)
    const frames = decode(cut(bytes, [7]))
    assert.strictEqual(frames.length, 1)
  })
})

describe("the limits and the encoder of lines", () => {
  it("law 12: the decoder reports a line with more nodes than maxMessageNodes, and decodes the next", () => {
    assert.deepStrictEqual(decode([bytesOf("[[],[]]\n[[],[],[]]\n[1]\n")], { maxMessageNodes: 3 }), [
      Result.succeed([[], []]),
      Result.fail({ _tag: "TooComplex" as const, nodes: 4, limitNodes: 3 }),
      Result.succeed([1])
    ])
  })

  it("law 12: an integer beyond 2^53 counts as eight nodes, and other numbers and digits in strings as none", () => {
    const others = "9007199254740992,-9007199254740990,1234567890123456,0.12345678901234567,\"1915883588174806058\""
    const large = `[${others},9007199254740993]`
    assert.deepStrictEqual(decode([bytesOf(`${large}\n`)], { maxMessageNodes: 8 }), [
      Result.fail({ _tag: "TooComplex" as const, nodes: 9, limitNodes: 8 })
    ])
    assert.isTrue(decode([bytesOf(`${large}\n`)], { maxMessageNodes: 9 }).every(Result.isSuccess))
  })

  it.effect.prop(
    "[STD-02] an encoded line has no newline except its last character, and decodes to the same message",
    { text: Schema.String, more: Schema.Array(Character), id: Schema.Int },
    ({ id, more, text }) =>
      Effect.sync(() => {
        const message = { id: id + 0, text, more: more.join("\n") }
        const line = Result.getOrThrow(JsonLines.encode(message))
        assert.strictEqual(line.indexOf("\n"), line.length - 1)
        assert.deepStrictEqual(decode([bytesOf(line)]), [Result.succeed(message)])
      }),
    { arbitrary: { runs: 300 } }
  )

  it("[STD-02] U+2028 and U+2029 are escaped, because some readers end a line at them", () => {
    assert.strictEqual(Result.getOrThrow(JsonLines.encode("a\u2028b\u2029c\u0085")), "\"a\\u2028b\\u2029c\u0085\"\n")
  })

  it("a value that JSON cannot represent fails with Unserializable", () => {
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    const throwing = {
      toJSON: () => {
        throw new RangeError("no")
      }
    }
    for (const message of [{ value: 1n }, cycle, undefined, throwing]) {
      const encoded = JsonLines.encode(message)
      assert.isTrue(Result.isFailure(encoded) && encoded.failure.reason._tag === "Unserializable")
    }
  })
})
