import { RequestId } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { overTheWire } from "./wire.ts"

const isDecoded = Schema.is(RequestId.RequestId)

it.each<RequestId.RequestId>(["", "0", "1", "a b", "__proto__", "\u0000", 0, -0, 1, -1, Number.MAX_SAFE_INTEGER])(
  "[MSG-03] %j is a request id",
  (id) => {
    assert.isTrue(RequestId.isRequestId(id))
    assert.isTrue(isDecoded(id))
  }
)

it.each<unknown>([
  null,
  undefined,
  true,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  // Not a safe integer: `JSON.parse` cannot distinguish it from its neighbours.
  Number.MAX_SAFE_INTEGER + 1,
  [],
  ["1"],
  {},
  { toString: "1" }
])("[MSG-03] [MSG-04] %j is not a request id", (value) => {
  assert.isFalse(RequestId.isRequestId(value))
  assert.isFalse(isDecoded(value))
})

it.prop("[MSG-03] a generated id is a request id of the same type after JSON", [
  RequestId.RequestId
], ([id]) => {
  const received = overTheWire(id)
  assert.isTrue(RequestId.isRequestId(received))
  assert.strictEqual(typeof received, typeof id)
}, { arbitrary: { runs: 300 } })

it.prop(
  "[MSG-03] guard and schema agree on every JSON value",
  [Schema.Unknown],
  ([value]) => assert.strictEqual(RequestId.isRequestId(value), isDecoded(value)),
  { arbitrary: { runs: 500 } }
)

it.each([
  ["a", 4096],
  ["é", 2048],
  ["中", 1365],
  ["😀", 1024],
  // A lone surrogate is sent as a replacement character.
  ["\uD800", 1365]
])("repeated %j is too long above 4,096 bytes", (character, most) => {
  assert.isFalse(RequestId.isTooLong(character.repeat(most)))
  assert.isTrue(RequestId.isTooLong(character.repeat(most + 1)))
})

it("no number is too long", () => assert.isFalse(RequestId.isTooLong(Number.MAX_SAFE_INTEGER)))

it.prop(
  "an id is too long exactly if it has more than 4,096 bytes of UTF-8",
  [
    Schema.Array(Schema.String).check(Schema.isMinLength(1)),
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 }))
  ],
  ([parts, length]) => {
    const id = parts.join("-").repeat(length).slice(0, length)
    assert.strictEqual(RequestId.isTooLong(id), Buffer.byteLength(id) > RequestId.maximumBytes)
  },
  { arbitrary: { runs: 300 } }
)

it("[MSG-03] law 3: the ids 1 and \"1\" are different keys of the map that matches responses", () => {
  const pending = HashMap.make([1, "number"], ["1", "string"])
  assert.strictEqual(HashMap.size(pending), 2)
  assert.deepStrictEqual(HashMap.get(pending, 1), Option.some("number"))
  assert.deepStrictEqual(HashMap.get(pending, "1"), Option.some("string"))
})
