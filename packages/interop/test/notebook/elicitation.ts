import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import type { ElicitResult } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { all, call, notificationsOf, OfficialClient, type ReceivedRequest } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members } from "./results.ts"

/** Requests a URL, as a browser would. */
const visit = (url: unknown) => Effect.promise(() => fetch(String(url)).then(({ status }) => status))

/** Makes the client respond with this result. Returns the received params. */
const respondWith = Effect.fnUntraced(function*(result: ElicitResult) {
  const { handlers } = yield* OfficialClient
  const received: Array<ReceivedRequest["params"]> = []
  handlers.elicitation = ({ params }) => {
    received.push(params)
    return Effect.succeed(result)
  }
  return received
})

const toolNames = Effect.flatMap(OfficialClient, ({ request }) => all(request.listTools, "tools")).pipe(
  Effect.map((tools) => tools.map(({ name }) => name))
)

export const elicitation = (conditions: Conditions) => {
  const { it, revision } = conditions
  if (Revision.isAtLeast(revision, "2025-06-18")) formElicitation(conditions)
  if (Revision.isAtLeast(revision, "2025-11-25")) urlElicitation(conditions)

  it.effect("[ELI-03] [INIT-13] sends no kind of elicitation that the revision does not have", () =>
    Effect.gen(function*() {
      const received = yield* respondWith({ action: "cancel" })
      const failure = (since: Revision.LegacyRevision) => ({
        text: `elicitation/create: the negotiated revision ${revision} does not have this; ` +
          `revision ${since} or later is needed`,
        isError: true
      })
      const form = yield* call("erase", { name: "plan" })
      const multiple = yield* call("classify", { name: "plan" })
      const signIn = yield* call("sign-in", {})
      if (Revision.isAtLeast(revision, "2025-11-25")) return assert.strictEqual(received.length, 3)
      assert.deepStrictEqual(multiple, failure("2025-11-25"))
      assert.deepStrictEqual(signIn, failure("2025-11-25"))
      if (Revision.isAtLeast(revision, "2025-06-18")) return assert.strictEqual(received.length, 1)
      assert.deepStrictEqual(form, failure("2025-06-18"))
      assert.deepStrictEqual(received, [])
      const published = yield* call("publish", { name: "plan" })
      assert.match("text" in published ? published.text : "", /^Visit http:.* to sign in, then try again$/)
    }))
}

const formElicitation = ({ it, revision }: Conditions) => {
  it.effect("[ELI-01] [ELI-07] [ELI-09] sends a form elicitation, and follows its result", () =>
    Effect.gen(function*() {
      yield* call("write", { name: "litter", text: "Nothing of worth." })
      yield* respondWith({ action: "decline" })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: decline.",
        isError: false
      })
      yield* respondWith({ action: "cancel" })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: cancel.",
        isError: false
      })
      yield* respondWith({ action: "accept", content: { sure: false, reason: "done" } })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” was not erased: accept.",
        isError: false
      })
      yield* respondWith({ action: "accept", content: { sure: true, reason: "wrong", farewell: "Ade ✿" } })
      assert.deepStrictEqual(yield* call("erase", { name: "litter" }), {
        text: "The note “litter” is erased: wrong.",
        isError: false
      })
      assert.deepInclude(yield* call("show", { name: "litter" }), { isError: true })
    }))

  it.effect("[ELI-04] [INIT-13] the form has the fields of the revision", () =>
    Effect.gen(function*() {
      const received = yield* respondWith({ action: "cancel" })
      yield* call("erase", { name: "plan" })
      const { message, mode = "form", requestedSchema } = received[0] ?? {}
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

const urlElicitation = ({ it, peer }: Conditions) => {
  it.effect("[ELI-07] a form field may have several values", () =>
    Effect.gen(function*() {
      const received = yield* respondWith({ action: "accept", content: { subjects: ["sea", "work"] } })
      yield* call("write", { name: "harbour", text: "Ships." })
      assert.deepStrictEqual(yield* call("classify", { name: "harbour" }), {
        text: "The note “harbour” is about: sea, work.",
        isError: false
      })
      assert.deepStrictEqual(members(members(received[0]?.["requestedSchema"])["properties"])["subjects"], {
        type: "array",
        title: "Subjects",
        items: { type: "string", enum: ["home", "letters", "sea", "work"] },
        minItems: 1
      })
    }))

  it.effect("[ELI-10] [ELI-12] [TOOL-02] sends a URL elicitation, and its completion after the visit", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const completed = () => notificationsOf(client, "notifications/elicitation/complete")
      const changes = () => notificationsOf(client, "notifications/tools/list_changed").length
      yield* respondWith({ action: "decline" })
      assert.deepStrictEqual(yield* call("sign-in", {}), { text: "Not signed in: decline.", isError: false })
      const received = yield* respondWith({ action: "accept" })
      const [completedBefore, changedBefore] = [completed().length, changes()]
      assert.deepStrictEqual(yield* call("sign-in", {}), {
        text: "Waiting for the page to be visited.",
        isError: false
      })
      const { elicitationId, message, mode, url } = received[0] ?? {}
      assert.deepStrictEqual({ mode, message }, { mode: "url", message: "Sign in to publish." })
      assert.notInclude(yield* toolNames, "sign-out")
      assert.strictEqual(completed().length, completedBefore)
      assert.strictEqual(yield* visit(url), 200)
      yield* Child.until(() => completed().length > completedBefore && changes() > changedBefore)
      assert.deepStrictEqual(completed().slice(completedBefore), [{ elicitationId }])
      assert.include(yield* toolNames, "sign-out")
      assert.strictEqual(yield* visit(url), 404)
      yield* call("sign-out", {})
      yield* Child.until(() => changes() > changedBefore + 1)
      assert.notInclude(yield* toolNames, "sign-out")
      assert.deepInclude(yield* call("sign-out", {}), { code: -32602 })
    }))

  it.effect("[ELI-14] requires a URL elicitation for a call, and serves the call after the visit", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const completed = () => notificationsOf(client, "notifications/elicitation/complete")
      const completedBefore = completed().length
      const rejected = yield* call("publish", { name: "plan" })
      assert("code" in rejected, JSON.stringify(rejected))
      assert.strictEqual(rejected.code, -32042)
      assert.strictEqual(rejected.message, peer.errorMessage(-32042, "URL elicitation required"))
      const [required, ...more] = list(members(rejected.data)["elicitations"])
      assert.deepStrictEqual(more, [])
      const { elicitationId, url, ...rest } = members(required)
      assert.deepStrictEqual(rest, { mode: "url", message: "Sign in to publish." })
      assert.strictEqual(yield* visit(url), 200)
      yield* Child.until(() => completed().length > completedBefore)
      assert.deepStrictEqual(completed().slice(completedBefore), [{ elicitationId }])
      assert.deepStrictEqual(yield* call("publish", { name: "plan" }), {
        text: "The note “plan” is published, with 39 letters.",
        isError: false
      })
      yield* call("sign-out", {})
    }))
}
