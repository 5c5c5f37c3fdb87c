import { Revision, RevisionProjection } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { assertAccepted, strictly } from "./official.ts"
import { assertInSchema, problemIn } from "./officialSchemas.ts"
import { inForm, textBlock } from "./RevisionProjection/example.ts"
import { misreadBy, unknownTo } from "./revisions.ts"
import { type Part, parts } from "./table.ts"
import { frozen, inheritedNames, isMembers } from "./wire.ts"

const { project } = RevisionProjection

type Side = "params" | "result"

const revisions = Revision.legacy
const projections: ReadonlyArray<RevisionProjection.Projection> = ["tolerant", "strict"]

// =====================================================================================================================
// Messages without a form in an older revision
// =====================================================================================================================

const membersOf = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

/**
 * Returns whether this has a form in every revision that has its method. Before 2025-11-25, URL elicitation and a field
 * with several values have none, nor do the result of such a field and the cancellation of a task.
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

/** The methods that carry the output of a tool, or its schema. */
const newer: ReadonlySet<string> = new Set(["tools/list", "tools/call", "tasks/result", "sampling/createMessage"])

describe.each(parts)("$label", (row) => {
  const { codec, method, part, since } = row
  const received = Arbitrary.map(strictly(codec), frozen)
  const older = revisions.filter((revision) => Revision.isAtLeast(revision, since))

  it.prop("is unchanged in the newest revision", [received], ([value]) => {
    for (const projection of projections) {
      // The output of a tool has a newer form than that of the newest revision with a handshake.
      const kept = project(method, part, Revision.latestLegacy, value, projection)
      assert.strictEqual(project(method, part, Revision.latestLegacy, kept, projection), kept)
      if (!newer.has(method)) assert.strictEqual(kept, value)
    }
    assert.deepStrictEqual(unknownTo(Revision.latestLegacy, method, part, value), [])
  }, runs)

  /** Asserts the laws of one projection to a revision that has the method. */
  const assertProjection = (
    value: unknown,
    revision: Revision.LegacyRevision,
    projection: RevisionProjection.Projection
  ) => {
    // The value is frozen: a modification in place would throw.
    const projected = project(method, part, revision, value, projection)
    if (projected !== value) assert.notDeepEqual(projected, value)
    assert.strictEqual(project(method, part, revision, projected, projection), projected)
    if (!hasForm(row, value)) return
    const problems = projection === "strict" ? unknownTo : misreadBy
    assert.deepStrictEqual(problems(revision, method, part, projected), [])
    assertAccepted(method, part, projected)
    // This library accepts a number for an integer; the schemas do not, in any revision.
    if (problemIn(Revision.latestLegacy, method, part, value) !== undefined) return
    assertInSchema(revision, method, part, projected)
  }

  it.prop(
    "[INIT-12] [INIT-13] is valid in each revision, a second projection changes nothing, and only a changed value is" +
      " copied",
    [received],
    ([value]) => {
      for (const revision of older) {
        for (const projection of projections) assertProjection(value, revision, projection)
      }
    },
    runs
  )

  it.prop("the strict form of the tolerant form is the strict form, in each revision", [received], ([value]) => {
    for (const revision of older) {
      const tolerant = project(method, part, revision, value)
      assert.deepStrictEqual(
        project(method, part, revision, tolerant, "strict"),
        project(method, part, revision, value, "strict")
      )
    }
  }, runs)

  it.prop("one projection has the result of several single steps", [received], ([value]) => {
    for (const projection of projections) {
      let stepwise = value
      for (const revision of revisions.toReversed()) {
        stepwise = project(method, part, revision, stepwise, projection)
        assert.deepStrictEqual(stepwise, project(method, part, revision, value, projection))
      }
    }
  }, runs)
})

// =====================================================================================================================
// Elicitation without a form in an older revision
// =====================================================================================================================

const urlElicitation = { mode: "url", message: "m", url: "https://example.com", elicitationId: "1", task: {} }
const severalValues = { type: "array", items: { type: "string", enum: ["a"] }, default: ["a"] }

const formless: ReadonlyArray<readonly [string, Side, unknown]> = [
  ["[ELI-10] URL elicitation", "params", urlElicitation],
  ["a field with several values", "params", inForm(severalValues)],
  [
    "a field with several titled values",
    "params",
    inForm({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } })
  ],
  ["the result of a field with several values", "result", { action: "accept", content: { first: ["a"] } }]
]

it.each(formless)("%s is unchanged, so that no older receiver misreads it", (_, part, value) => {
  for (const revision of revisions) {
    for (const projection of projections) {
      assert.strictEqual(project("elicitation/create", part, revision, value, projection), value)
    }
  }
  assert.isNotEmpty(unknownTo("2025-06-18", "elicitation/create", part, value))
})

// =====================================================================================================================
// Unexpected names and values
// =====================================================================================================================

describe.each([...inheritedNames, "acme/echo", "tools/call params"])("the unknown method %j", (name) => {
  it("is never converted", () => {
    const value = { content: [], structuredContent: {}, title: "", _meta: {} }
    for (const revision of revisions) {
      assert.strictEqual(project(name, "params", revision, value), value)
      assert.strictEqual(project(name, "result", revision, value), value)
    }
  })
})

it.each(inheritedNames)("members named %j are kept", (name) => {
  const received: unknown = JSON.parse(
    `{"content":[{"type":"text","text":"","_meta":{}}],"structuredContent":{},${JSON.stringify(name)}:{"a":1}}`
  )
  const expected: unknown = JSON.parse(`{"content":[{"type":"text","text":""}],${JSON.stringify(name)}:{"a":1}}`)
  const projected = project("tools/call", "result", "2025-03-26", received, "strict")
  assert.strictEqual(JSON.stringify(projected), JSON.stringify(expected))
  assert.strictEqual(Object.getPrototypeOf(projected), Object.prototype)
})

it.each(inheritedNames)("a form field named %j is converted", (name) => {
  const form = (field: string): unknown =>
    JSON.parse(`{"message":"","requestedSchema":{"type":"object","properties":{${JSON.stringify(name)}:${field}}}}`)
  const projected = project(
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

it.each([["a cycle", cycle], ["a big integer", { n: 1n }]])(
  "%s in content that becomes text does not throw",
  (_, value) => {
    const result = project("tools/call", "result", "2025-03-26", { content: [], structuredContent: value }, "strict")
    assert.deepStrictEqual<unknown>(result, { content: [textBlock("[not representable as JSON]")] })
  }
)

it.prop("no value makes project throw", [Arbitrary.schema(Schema.Unknown)], ([value]) => {
  for (const { method, part } of parts) {
    for (const revision of revisions) {
      for (const projection of projections) {
        project(method, part, revision, value, projection)
        for (const name of ["content", "messages", "capabilities", "requestedSchema", "tools"]) {
          project(method, part, revision, { [name]: value }, projection)
          project(method, part, revision, { [name]: [value] }, projection)
        }
      }
    }
  }
}, { arbitrary: { runs: 30 } })

it("the member lists find members that a revision does not have", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "" }], structuredContent: {}, acme: 1 }
  assert.deepStrictEqual(unknownTo("2024-11-05", "tools/call", "result", result), [
    "result.content[0] is of an unknown kind",
    "result.structuredContent is unknown",
    "result.acme is unknown"
  ])
  assert.isNotEmpty(unknownTo("2025-11-25", "acme/echo", "params", {}))
})

it("the member lists find members that an older reader would misread, and not those that it skips", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "" }], structuredContent: {}, acme: 1 }
  assert.deepStrictEqual(misreadBy("2024-11-05", "tools/call", "result", result), [
    "result.content[0] is of an unknown kind"
  ])
  const params = { name: "add", title: "Add", task: {} }
  assert.deepStrictEqual(misreadBy("2025-06-18", "tools/call", "params", params), ["params.task is unknown"])
})
