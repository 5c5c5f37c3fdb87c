import { Revision, RevisionProjection } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { assertAccepted, strictly } from "./official.ts"
import { assertInSchema, problemIn } from "./officialSchemas.ts"
import { inForm, words } from "./RevisionProjection/example.ts"
import { misreadBy, unknownTo } from "./revisions.ts"
import { type Part, parts } from "./table.ts"
import { frozen, inheritedNames, isMembers } from "./wire.ts"

const { downgrade } = RevisionProjection

type Side = "params" | "result"

const revisions = Revision.supported
const projections: ReadonlyArray<RevisionProjection.Projection> = ["tolerant", "strict"]

// =====================================================================================================================
// What a revision cannot say in any way
// =====================================================================================================================

const membersOf = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

/**
 * Has this a form in every revision that has its method? A question by page and a field of several choices have none
 * before 2025-11-25; nor has the answer to such a field, nor the cancellation of a task.
 */
const hasForm = ({ method, part }: Part, value: unknown): boolean => {
  if (method === "notifications/cancelled") return membersOf(value)["requestId"] !== undefined
  if (method !== "elicitation/create") return true
  if (part === "result") {
    return Object.values(membersOf(membersOf(value)["content"])).every((answer) => !Array.isArray(answer))
  }
  const { properties } = membersOf(membersOf(value)["requestedSchema"])
  return membersOf(value)["mode"] !== "url" &&
    Object.values(membersOf(properties)).every((field) => membersOf(field)["type"] !== "array")
}

// =====================================================================================================================
// Laws
// =====================================================================================================================

const runs = { arbitrary: { runs: 30 } }

describe.each(parts)("$label", (row) => {
  const { codec, method, part, since } = row
  const received = Arbitrary.map(strictly(codec), frozen)
  const older = revisions.filter((revision) => Revision.isAtLeast(revision, since))

  it.prop("[INIT-13] is the same in the newest revision", [received], ([value]) => {
    for (const projection of projections) {
      assert.strictEqual(downgrade(method, part, Revision.latest, value, projection), value)
    }
    assert.deepStrictEqual(unknownTo(Revision.latest, method, part, value), [])
  }, runs)

  for (const revision of older) {
    for (const projection of projections) {
      it.prop(
        `[INIT-12] [INIT-13] (${projection}) fits ${revision}, is altered no more than once, and is copied only if it changes`,
        [received],
        ([value]) => {
          // The value is frozen: an alteration in place would throw.
          const projected = downgrade(method, part, revision, value, projection)
          if (projected !== value) assert.notDeepEqual(projected, value)
          assert.strictEqual(downgrade(method, part, revision, projected, projection), projected)
          if (!hasForm(row, value)) return
          const problems = projection === "strict" ? unknownTo : misreadBy
          assert.deepStrictEqual(problems(revision, method, part, projected), [])
          assertAccepted(method, part, projected)
          // This library accepts a number for an integer; the schemas do not, in any revision.
          if (problemIn(Revision.latest, method, part, value) !== undefined) return
          assertInSchema(revision, method, part, projected)
        },
        runs
      )
    }

    it.prop(`[INIT-12] in ${revision} the tolerant form has all that the strict form has`, [received], ([value]) => {
      const tolerant = downgrade(method, part, revision, value)
      assert.deepStrictEqual(
        downgrade(method, part, revision, tolerant, "strict"),
        downgrade(method, part, revision, value, "strict")
      )
    }, runs)
  }

  it.prop("[INIT-12] [INIT-13] comes to the same by one step back or by several", [received], ([value]) => {
    for (const projection of projections) {
      let stepwise = value
      for (const revision of revisions.toReversed()) {
        stepwise = downgrade(method, part, revision, stepwise, projection)
        assert.deepStrictEqual(stepwise, downgrade(method, part, revision, value, projection))
      }
    }
  }, runs)
})

// =====================================================================================================================
// What has no form in an older revision
// =====================================================================================================================

const page = { mode: "url", message: "m", url: "https://example.com", elicitationId: "1", task: {} }
const choices = { type: "array", items: { type: "string", enum: ["a"] }, default: ["a"] }

const formless: ReadonlyArray<readonly [string, Side, unknown]> = [
  ["[ELI-10] a question by page", "params", page],
  ["a field of several choices", "params", inForm(choices)],
  [
    "a field of several titled choices",
    "params",
    inForm({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } })
  ],
  ["the answer to a field of several choices", "result", { action: "accept", content: { first: ["a"] } }]
]

it.each(formless)("%s is left as it is, so that nothing else is read in it", (_, part, value) => {
  for (const revision of revisions) {
    for (const projection of projections) {
      assert.strictEqual(downgrade("elicitation/create", part, revision, value, projection), value)
    }
  }
  assert.isNotEmpty(unknownTo("2025-06-18", "elicitation/create", part, value))
})

// =====================================================================================================================
// Names and values nobody expects
// =====================================================================================================================

describe.each([...inheritedNames, "acme/echo", "tools/call params"])("the method %j, which is in no table,", (name) => {
  it("has no differences", () => {
    const value = { content: [], structuredContent: {}, title: "", _meta: {} }
    for (const revision of revisions) {
      assert.strictEqual(downgrade(name, "params", revision, value), value)
      assert.strictEqual(downgrade(name, "result", revision, value), value)
    }
  })
})

it.each(inheritedNames)("members named %j pass", (name) => {
  const received: unknown = JSON.parse(
    `{"content":[{"type":"text","text":"","_meta":{}}],"structuredContent":{},${JSON.stringify(name)}:{"a":1}}`
  )
  const expected: unknown = JSON.parse(`{"content":[{"type":"text","text":""}],${JSON.stringify(name)}:{"a":1}}`)
  const projected = downgrade("tools/call", "result", "2025-03-26", received, "strict")
  assert.strictEqual(JSON.stringify(projected), JSON.stringify(expected))
  assert.strictEqual(Object.getPrototypeOf(projected), Object.prototype)
})

it.each(inheritedNames)("a field named %j is a field", (name) => {
  const form = (field: string): unknown =>
    JSON.parse(`{"message":"","requestedSchema":{"type":"object","properties":{${JSON.stringify(name)}:${field}}}}`)
  const projected = downgrade(
    "elicitation/create",
    "params",
    "2025-06-18",
    form(`{"type":"string","default":""}`),
    "strict"
  )
  assert.strictEqual(JSON.stringify(projected), JSON.stringify(form(`{"type":"string"}`)))
})

const cycle: { [name: string]: unknown } = {}
cycle["self"] = cycle

it.each([["a cycle", cycle], ["a big integer", { n: 1n }]])("%s in what becomes text does not throw", (_, value) => {
  const result = downgrade("tools/call", "result", "2025-03-26", { content: [], structuredContent: value }, "strict")
  assert.deepStrictEqual<unknown>(result, { content: [words("[no JSON]")] })
})

it.prop("whatever the value is, fitting it does not throw", [Arbitrary.schema(Schema.Unknown)], ([value]) => {
  for (const { method, part } of parts) {
    for (const revision of revisions) {
      for (const projection of projections) {
        downgrade(method, part, revision, value, projection)
        for (const name of ["content", "messages", "capabilities", "requestedSchema", "tools"]) {
          downgrade(method, part, revision, { [name]: value }, projection)
          downgrade(method, part, revision, { [name]: [value] }, projection)
        }
      }
    }
  }
}, { arbitrary: { runs: 30 } })

it("[INIT-13] the member lists judge: what a revision does not have is found", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "" }], structuredContent: {}, acme: 1 }
  assert.deepStrictEqual(unknownTo("2024-11-05", "tools/call", "result", result), [
    "result.content[0] is of an unknown kind",
    "result.structuredContent is unknown",
    "result.acme is unknown"
  ])
  assert.isNotEmpty(unknownTo("2025-11-25", "acme/echo", "params", {}))
})

it("[INIT-13] the member lists judge: what a reader of a revision would misread is found, and what it skips is not", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "" }], structuredContent: {}, acme: 1 }
  assert.deepStrictEqual(misreadBy("2024-11-05", "tools/call", "result", result), [
    "result.content[0] is of an unknown kind"
  ])
  const params = { name: "add", title: "Add", task: {} }
  assert.deepStrictEqual(misreadBy("2025-06-18", "tools/call", "params", params), ["params.task is unknown"])
})
