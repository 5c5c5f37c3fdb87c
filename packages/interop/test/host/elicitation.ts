import * as Notifications from "@effect-mcp/examples/src/host/notifications.ts"
import { type Elicitation, type ElicitationSchema, Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Conditions, withScript } from "./conditions.ts"
import { callForText, rawServerRequest, serverRequest } from "./results.ts"

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

const formWithDefaults = {
  ...form,
  properties: {
    ...form.properties,
    beads: { type: "integer", minimum: 7, maximum: 9, default: 8 },
    shape: { type: "string", oneOf: [{ const: "round", title: "Round" }], default: "round" },
    sizes: { type: "array", items: { type: "string", enum: ["small", "large"] }, minItems: 1 },
    holes: { type: "array", items: { anyOf: [{ const: "1", title: "One" }] }, default: ["1"] }
  }
}

const content = { name: "Ada!!", mail: "ada@example.com", beads: 7, share: 1, sure: false, colour: "red" }

const urlParams = {
  mode: "url",
  message: "Sign in",
  url: "https://example.com/in",
  elicitationId: "page-1"
} as const

export const elicitation = (conditions: Conditions) => {
  const { it, revision } = conditions
  if (Revision.isAtLeast(revision, "2025-06-18")) formElicitation(conditions)
  if (Revision.isAtLeast(revision, "2025-11-25")) urlElicitation(conditions)

  it.effect("[ELI-05] [INIT-13] rejects kinds of elicitation that the revision does not have", () =>
    Effect.gen(function*() {
      const formOutcome = yield* rawServerRequest("elicitation/create", {
        message: "Who are you?",
        requestedSchema: form
      })
      const urlOutcome = yield* rawServerRequest("elicitation/create", urlParams)
      const expected = {
        "2024-11-05": [-32601, -32601],
        "2025-03-26": [-32601, -32601],
        "2025-06-18": [undefined, -32602],
        "2025-11-25": [undefined, undefined]
      }
      assert.deepStrictEqual([formOutcome["code"], urlOutcome["code"]], expected[revision])
    }))
}

const formElicitation = ({ host, it, revision }: Conditions) => {
  it.effect("[ELI-01] [ELI-04] [ELI-07] [ELI-08] the user fills in a form", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* serverRequest("elicitation/create", { message: "Who are you?", requestedSchema: form }),
        {
          result: { action: "accept", content }
        }
      )
      if (!Revision.isAtLeast(revision, "2025-11-25")) return
      assert.deepStrictEqual(
        yield* serverRequest("elicitation/create", { message: "Who are you?", requestedSchema: formWithDefaults }),
        {
          result: {
            action: "accept",
            content: { ...content, beads: 8, shape: "round", sizes: ["small"], holes: ["1"] }
          }
        }
      )
    }))

  it.effect("[ELI-09] the user declines or cancels", () =>
    Effect.gen(function*() {
      for (const action of ["decline", "cancel"] as const) {
        const received: Array<Elicitation.FormParams> = []
        const fillForm = (params: Elicitation.FormParams) => {
          received.push(params)
          return Effect.succeed({ action })
        }
        const sending = serverRequest("elicitation/create", { message: "Who are you?", requestedSchema: form })
        assert.deepStrictEqual(yield* withScript(host, { fillForm }, sending), { result: { action } })
        assert.strictEqual(received[0]?.message, "Who are you?")
        assert.deepStrictEqual(received[0]?.requestedSchema, form)
      }
    }))
}

const urlElicitation = ({ host, it, peer }: Conditions) => {
  it.effect("[ELI-10] the user confirms a URL elicitation, which names its server", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      for (const action of ["accept", "decline"] as const) {
        const openUrl = ({ _meta, ...params }: Elicitation.UrlParams, serverName: string) => {
          received.push(params, serverName)
          return Effect.succeed({ action })
        }
        assert.deepStrictEqual(yield* withScript(host, { openUrl }, serverRequest("elicitation/create", urlParams)), {
          result: { action }
        })
      }
      assert.deepStrictEqual(received, [urlParams, peer.name, urlParams, peer.name])
    }))

  it.effect("[ELI-12] receives the completion of a URL elicitation", () =>
    Effect.gen(function*() {
      const method = "notifications/elicitation/complete"
      const params = { elicitationId: "page-1" }
      yield* callForText("notify", { method, params })
      assert.deepStrictEqual(yield* Notifications.next(method), { method, params })
    }))
}
