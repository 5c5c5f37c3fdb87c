import { JsonRpc, MethodDefinition, MethodTable, Revision } from "@effect-mcp/protocol"
import { Mutation, NearlyValid } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type rowOf } from "./support/rows.ts"

const roles: ReadonlyArray<MethodDefinition.Role> = ["client", "server"]
const sides = Revision.supported.flatMap((revision) => roles.map((from) => ({ from, revision })))
const runs = { arbitrary: { runs: 200 } }

const fits = (schema: Schema.Codec<unknown>, value: unknown): boolean => Schema.is(schema)(value)

const isIn = (
  revision: Revision.Revision,
  { since, until = Revision.latest }: NonNullable<ReturnType<typeof rowOf>>
): boolean => Revision.isAtLeast(revision, since) && Revision.isAtLeast(until, revision)

/** Returns the judgement of a receiver, by the tables alone. */
const found = (
  frame: unknown,
  from: MethodDefinition.Role,
  revision: Revision.Revision,
  asked: string | undefined
): NearlyValid.Rejection | "Valid" => {
  const classified = JsonRpc.classify(frame)
  switch (classified._tag) {
    case "Request":
    case "Notification": {
      const { method, params } = classified.message
      const row = classified._tag === "Request"
        ? MethodTable.findRequest(method, from)
        : MethodTable.findNotification(method, from)
      // Without a handshake, a server sends no requests.
      if (classified._tag === "Request" && from === "server" && Revision.isModern(revision)) return "UnknownMethod"
      if (row === undefined || !isIn(revision, row)) return "UnknownMethod"
      return fits(row.params, params ?? {}) ? "Valid" : "InvalidParams"
    }
    case "Response": {
      if (JsonRpc.isFailure(classified.message)) return "Valid"
      const row = MethodTable.findRequest(asked ?? "", MethodDefinition.peerOf(from))
      return row !== undefined && fits(row.result, classified.message.result) ? "Valid" : "InvalidResult"
    }
    case "Batch":
    case "Malformed":
      return "Malformed"
  }
}

/** Draws messages until there is one of each kind, at most 3,000. No message is of a kind that is not expected. */
const drawEach = Effect.fnUntraced(function*<A>(
  messages: Arbitrary.Arbitrary<A>,
  kindsOf: (message: A) => ReadonlyArray<string>,
  expected: ReadonlyArray<string>
) {
  const kinds = new Set<string>()
  for (let seed = 1; seed <= 30 && kinds.size < expected.length; seed++) {
    for (const message of yield* Arbitrary.sampleEffect(messages, { count: 100, seed })) {
      for (const kind of kindsOf(message)) kinds.add(kind)
    }
  }
  assert.sameMembers([...kinds], [...expected])
})

describe.each(sides)("of a $from in $revision", ({ from, revision }) => {
  const rejected = NearlyValid.rejected(from, revision)
  const tolerated = NearlyValid.tolerated(from, revision)

  it.prop(
    "[MSG-01] [MSG-03] [MSG-04] [MSG-08] [MSG-10] an invalid message is rejected for the given reason",
    [
      rejected
    ],
    ([{ message, method, mutation, rejection, valid }]) => {
      assert.strictEqual(found(message, from, revision, method), rejection, Mutation.describe(mutation))
      if (mutation._tag === "MethodNewer") {
        assert.strictEqual(message, valid)
        return
      }
      assert.strictEqual(found(valid, from, revision, method), "Valid")
      assert.notDeepEqual<unknown>(message, valid)
    },
    runs
  )

  it.prop("a message with a harmless change is accepted as the original message", [
    tolerated
  ], ([{ message, method, mutation, valid }]) => {
    assert.strictEqual(found(message, from, revision, method), "Valid", Mutation.describe(mutation))
    assert.strictEqual(found(valid, from, revision, method), "Valid")
    assert.strictEqual(JsonRpc.classify(message)._tag, JsonRpc.classify(valid)._tag)
    assert.notStrictEqual(JSON.stringify(message), JSON.stringify(valid))
  }, runs)

  it.effect("every kind of mutation is generated", () =>
    Effect.gen(function*() {
      const all: ReadonlyArray<Mutation.Invalidating> = [
        "MemberMissing",
        "MemberNull",
        "MemberOfWrongType",
        "LiteralUnknown",
        "RuleBroken",
        "MemberUnwanted",
        "MethodUnknown"
      ]
      const newer = revision === Revision.latestLegacy ? [] : ["MethodNewer"]
      // Without a handshake, a client sends no responses.
      const results = from === "client" && Revision.isModern(revision) ? [] : ["InvalidResult"]
      const reasons = ["Malformed", "UnknownMethod", "InvalidParams", ...results]
      yield* drawEach(rejected, ({ mutation, rejection }) => [mutation._tag, rejection], [...all, ...newer, ...reasons])
      yield* drawEach(
        tolerated,
        ({ mutation }) => [mutation._tag],
        // Only the output of tools has another form in the newest revision, and servers send it.
        revision === Revision.latestLegacy && from === "client"
          ? ["MemberUnknown", "ParamsNull"]
          : ["MemberUnknown", "ParamsNull", "MemberNewer"]
      )
    }))

  it.effect("a seed reproduces the messages", () =>
    Effect.gen(function*() {
      const draw = Arbitrary.sampleEffect(Arbitrary.all([rejected, tolerated]), { count: 100, seed: "again" })
      assert.deepStrictEqual(yield* draw, yield* draw)
    }))
})

it.effect("every kind of change shrinks to a small message with that change", () =>
  Effect.gen(function*() {
    for (const tag of ["MemberMissing", "MemberNull", "LiteralUnknown", "RuleBroken", "MethodUnknown"] as const) {
      const outcome = yield* Arbitrary.checkEffect(
        NearlyValid.rejected("client", "2025-11-25"),
        ({ mutation }) => mutation._tag !== tag,
        { runs: 1_000, seed: 1, maxShrinks: 2_000 }
      )
      assert.strictEqual(outcome._tag, "Falsified")
      if (outcome._tag !== "Falsified") return
      assert.strictEqual(outcome.shrunkInput.mutation._tag, tag)
      assert.isBelow(JSON.stringify(outcome.shrunkInput.valid).length, 200)
    }
  }))

it("describes each mutation in words", () => {
  assert.strictEqual(
    Mutation.describe({ _tag: "MemberMissing", path: ["result", "content", 0, "type"], value: undefined }),
    "result.content[0].type is missing"
  )
})
