import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import type { ElicitResult } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { all, type Asked, call, heardOf, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members } from "./results.ts"

/** Visits a page, as a browser would. */
const visit = (url: unknown) => Effect.promise(() => fetch(String(url)).then(({ status }) => status))

/** Has the client give this answer, and keeps what it is asked. */
const answering = Effect.fnUntraced(function*(result: ElicitResult) {
  const { answers } = yield* OfficialClient
  const asked: Array<Asked["params"]> = []
  answers.elicitation = ({ params }) => {
    asked.push(params)
    return Effect.succeed(result)
  }
  return asked
})

const toolNames = Effect.flatMap(OfficialClient, ({ request }) => all(request.listTools, "tools")).pipe(
  Effect.map((tools) => tools.map(({ name }) => name))
)

export const elicitation = (conditions: Conditions) => {
  const { it, revision } = conditions
  if (Revision.isAtLeast(revision, "2025-06-18")) byForm(conditions)
  if (Revision.isAtLeast(revision, "2025-11-25")) byPage(conditions)

  it.effect("[ELI-03] [INIT-13] asks by no form and by no page that the revision does not have", () =>
    Effect.gen(function*() {
      const asked = yield* answering({ action: "cancel" })
      const failure = (since: Revision.Revision) => ({
        text: `elicitation/create: the negotiated revision ${revision} does not have this; ` +
          `revision ${since} or later is needed`,
        isError: true
      })
      const form = yield* call("erase", { name: "plan" })
      const choices = yield* call("classify", { name: "plan" })
      const page = yield* call("sign-in", {})
      if (Revision.isAtLeast(revision, "2025-11-25")) return assert.strictEqual(asked.length, 3)
      assert.deepStrictEqual(choices, failure("2025-11-25"))
      assert.deepStrictEqual(page, failure("2025-11-25"))
      if (Revision.isAtLeast(revision, "2025-06-18")) return assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(form, failure("2025-06-18"))
      assert.deepStrictEqual(asked, [])
      const published = yield* call("publish", { name: "plan" })
      assert.match("text" in published ? published.text : "", /^Visit http:.* to sign in, then try again$/)
    }))
}

const byForm = ({ it, revision }: Conditions) => {
  it.effect("[ELI-01] [ELI-07] [ELI-09] asks the user by a form, and does what they say", () =>
    Effect.gen(function*() {
      yield* call("write", { name: "litter", text: "Nothing of worth." })
      yield* answering({ action: "decline" })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: decline.",
        isError: false
      })
      yield* answering({ action: "cancel" })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: cancel.",
        isError: false
      })
      yield* answering({ action: "accept", content: { sure: false, reason: "done" } })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: accept.",
        isError: false
      })
      yield* answering({ action: "accept", content: { sure: true, reason: "wrong", farewell: "Ade ✿" } })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” is erased: wrong.",
        isError: false
      })
      assert.deepInclude(yield* call("show", { name: "litter" }), { isError: true })
    }))

  it.effect("[ELI-04] [INIT-13] the form has what the revision knows of fields", () =>
    Effect.gen(function*() {
      const asked = yield* answering({ action: "cancel" })
      yield* call("erase", { name: "plan" })
      const { message, mode = "form", requestedSchema } = asked[0] ?? {}
      assert.strictEqual(message, "Erase the note “plan”?")
      assert.strictEqual(mode, "form")
      assert.deepStrictEqual(requestedSchema, {
        type: "object",
        properties: {
          sure: { type: "boolean", title: "Sure?", description: "Whether to erase “plan”", default: false },
          reason: {
            type: "string",
            title: "Reason",
            ...(revision === "2025-11-25"
              ? {
                oneOf: [
                  { const: "done", title: "It is no longer needed" },
                  { const: "wrong", title: "It is wrong" }
                ]
              }
              : { enum: ["done", "wrong"], enumNames: ["It is no longer needed", "It is wrong"] }),
            default: "done"
          },
          farewell: { type: "string", title: "Last words", maxLength: 80 }
        },
        required: ["sure"]
      })
    }))
}

const byPage = ({ it, peer }: Conditions) => {
  it.effect("[ELI-07] a form may let the user choose several things", () =>
    Effect.gen(function*() {
      const asked = yield* answering({ action: "accept", content: { subjects: ["sea", "work"] } })
      yield* call("write", { name: "harbour", text: "Ships." })
      assert.deepStrictEqual(yield* call("classify", { name: "harbour" }), {
        text: "The note “harbour” is about: sea, work.",
        isError: false
      })
      assert.deepStrictEqual(members(members(asked[0]?.["requestedSchema"])["properties"])["subjects"], {
        type: "array",
        title: "Subjects",
        items: { type: "string", enum: ["home", "letters", "sea", "work"] },
        minItems: 1
      })
    }))

  it.effect("[ELI-10] [ELI-12] [TOOL-02] sends the user to a page, and says when they have been there", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const completed = () => heardOf(client, "notifications/elicitation/complete")
      const changes = () => heardOf(client, "notifications/tools/list_changed").length
      yield* answering({ action: "decline" })
      assert.deepStrictEqual(yield* call("sign-in", {}), { text: "Not signed in: decline.", isError: false })
      const asked = yield* answering({ action: "accept" })
      const [toldOf, changed] = [completed().length, changes()]
      assert.deepStrictEqual(yield* call("sign-in", {}), {
        text: "Waiting for the page to be visited.",
        isError: false
      })
      const { elicitationId, message, mode, url } = asked[0] ?? {}
      assert.deepStrictEqual({ mode, message }, { mode: "url", message: "Sign in to publish." })
      assert.notInclude(yield* toolNames, "sign-out")
      assert.strictEqual(completed().length, toldOf)
      assert.strictEqual(yield* visit(url), 200)
      yield* Child.until(() => completed().length > toldOf && changes() > changed)
      assert.deepStrictEqual(completed().slice(toldOf), [{ elicitationId }])
      assert.include(yield* toolNames, "sign-out")
      assert.strictEqual(yield* visit(url), 404)
      yield* call("sign-out", {})
      yield* Child.until(() => changes() > changed + 1)
      assert.notInclude(yield* toolNames, "sign-out")
      assert.deepInclude(yield* call("sign-out", {}), { code: -32602 })
    }))

  it.effect("[ELI-14] refuses what needs a page to be visited, says which, and serves it after that", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const completed = () => heardOf(client, "notifications/elicitation/complete")
      const toldOf = completed().length
      const refused = yield* call("publish", { name: "plan" })
      assert("code" in refused, JSON.stringify(refused))
      assert.strictEqual(refused.code, -32042)
      assert.strictEqual(refused.message, peer.worded(-32042, "URL elicitation required"))
      const [page, ...more] = list(members(refused.data)["elicitations"])
      assert.deepStrictEqual(more, [])
      const { elicitationId, url, ...rest } = members(page)
      assert.deepStrictEqual(rest, { mode: "url", message: "Sign in to publish." })
      assert.strictEqual(yield* visit(url), 200)
      yield* Child.until(() => completed().length > toldOf)
      assert.deepStrictEqual(completed().slice(toldOf), [{ elicitationId }])
      assert.deepStrictEqual(yield* call("publish", { name: "plan" }), {
        text: "The note “plan” is published, with 39 letters.",
        isError: false
      })
      yield* call("sign-out", {})
    }))
}
