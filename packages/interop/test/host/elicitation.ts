import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { type Elicitation, type ElicitationSchema, Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { answering, type Conditions } from "./conditions.ts"
import { asked, requested, said } from "./results.ts"

const form: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name", minLength: 5 },
    mail: { type: "string", format: "email" },
    beads: { type: "integer", minimum: 7, maximum: 9 },
    share: { type: "number" },
    sure: { type: "boolean", default: false },
    colour: { type: "string", enum: ["red", "blue"], enumNames: ["Red", "Blue"] }
  },
  required: ["name", "sure"]
}

const newer = {
  ...form,
  properties: {
    ...form.properties,
    beads: { type: "integer", minimum: 7, maximum: 9, default: 8 },
    shape: { type: "string", oneOf: [{ const: "round", title: "Round" }], default: "round" },
    sizes: { type: "array", items: { type: "string", enum: ["small", "large"] }, minItems: 1 },
    holes: { type: "array", items: { anyOf: [{ const: "1", title: "One" }] }, default: ["1"] }
  }
}

const filled = { name: "Ada!!", mail: "ada@example.com", beads: 7, share: 1, sure: false, colour: "red" }

const page = {
  mode: "url",
  message: "Sign in",
  url: "https://example.com/in",
  elicitationId: "page-1"
} as const

export const elicitation = (conditions: Conditions) => {
  const { it, revision } = conditions
  if (Revision.isAtLeast(revision, "2025-06-18")) byForm(conditions)
  if (Revision.isAtLeast(revision, "2025-11-25")) byPage(conditions)

  it.effect("[ELI-05] [INIT-13] refuses questions of a kind that the revision does not have", () =>
    Effect.gen(function*() {
      const byForm = yield* requested("elicitation/create", { message: "Who are you?", requestedSchema: form })
      const byPage = yield* requested("elicitation/create", page)
      const expected = {
        "2024-11-05": [-32601, -32601],
        "2025-03-26": [-32601, -32601],
        "2025-06-18": [undefined, -32602],
        "2025-11-25": [undefined, undefined]
      }
      assert.deepStrictEqual([byForm["code"], byPage["code"]], expected[revision])
    }))
}

const byForm = ({ host, it, revision }: Conditions) => {
  it.effect("[ELI-01] [ELI-04] [ELI-07] [ELI-08] its user fills in a form", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asked("elicitation/create", { message: "Who are you?", requestedSchema: form }), {
        answer: { action: "accept", content: filled }
      })
      if (!Revision.isAtLeast(revision, "2025-11-25")) return
      assert.deepStrictEqual(yield* asked("elicitation/create", { message: "Who are you?", requestedSchema: newer }), {
        answer: {
          action: "accept",
          content: { ...filled, beads: 8, shape: "round", sizes: ["small"], holes: ["1"] }
        }
      })
    }))

  it.effect("[ELI-09] its user may say no, or go away", () =>
    Effect.gen(function*() {
      for (const action of ["decline", "cancel"] as const) {
        const given: Array<Elicitation.FormParams> = []
        const fillForm = (params: Elicitation.FormParams) => {
          given.push(params)
          return Effect.succeed({ action })
        }
        const asking = asked("elicitation/create", { message: "Who are you?", requestedSchema: form })
        assert.deepStrictEqual(yield* answering(host, { fillForm }, asking), { answer: { action } })
        assert.strictEqual(given[0]?.message, "Who are you?")
        assert.deepStrictEqual(given[0]?.requestedSchema, form)
      }
    }))
}

const byPage = ({ host, it, peer }: Conditions) => {
  it.effect("[ELI-10] its user is asked before a page is visited, and told who wants it", () =>
    Effect.gen(function*() {
      const given: Array<unknown> = []
      for (const action of ["accept", "decline"] as const) {
        const openUrl = ({ _meta, ...params }: Elicitation.UrlParams, serverName: string) => {
          given.push(params, serverName)
          return Effect.succeed({ action })
        }
        assert.deepStrictEqual(yield* answering(host, { openUrl }, asked("elicitation/create", page)), {
          answer: { action }
        })
      }
      assert.deepStrictEqual(given, [page, peer.name, page, peer.name])
    }))

  it.effect("[ELI-12] hears that a page has been dealt with", () =>
    Effect.gen(function*() {
      const method = "notifications/elicitation/complete"
      const params = { elicitationId: "page-1" }
      yield* said("tell", { method, params })
      assert.deepStrictEqual(yield* Notifications.next(method), { method, params })
    }))
}
