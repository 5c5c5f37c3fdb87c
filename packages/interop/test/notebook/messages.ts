import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertAccepted } from "../../../protocol/test/official.ts"
import { assertInSchema } from "../../../protocol/test/officialSchemas.ts"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import { all, OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { members } from "./results.ts"

interface SentPart {
  readonly method: string
  readonly part: "params" | "result"
  readonly value: unknown
}

/** The params and results that the server has sent. Errors are omitted, because all revisions have the same. */
const sentParts = Effect.map(OfficialClient, ({ received, sent }): ReadonlyArray<SentPart> => {
  const requests = sent.map(members).filter(({ method }) => method !== undefined)
  const methods = new Map(requests.map(({ id, method }) => [id, String(method)]))
  return received.map(members).flatMap(({ id, method, params = {}, result }): ReadonlyArray<SentPart> => {
    if (method !== undefined) return [{ method: String(method), part: "params", value: params }]
    return result === undefined ? [] : [{ method: methods.get(id) ?? "", part: "result", value: result }]
  }).filter(({ method }) => method !== "initialize" && !method.startsWith("notebook/"))
})

/** Makes the server send some messages, so that these tests also work without the others. */
const sendMessages = Effect.gen(function*() {
  const { request } = yield* OfficialClient
  yield* all(request.listTools, "tools")
  yield* all(request.listPrompts, "prompts")
  yield* all(request.listResources, "resources")
  yield* request.getPrompt({ name: "illustrate", arguments: { note: "plan" } })
  yield* result("show", { name: "plan" })
  yield* result("search", { word: "sea" })
})

/** Registered last, because these tests check all messages of the tests before. */
export const messages = ({ it, revision }: Conditions) => {
  it.effect("[INIT-12] [INIT-13] no sent message has anything that a reader of the revision would misread", () =>
    Effect.gen(function*() {
      yield* sendMessages
      assert.deepStrictEqual(
        (yield* sentParts).flatMap(({ method, part, value }) =>
          misreadBy(revision, method, part, value).map((problem) => `${method}: ${problem}`)
        ),
        []
      )
    }))

  it.effect("[MSG-01] the validators of both SDKs accept all sent messages", () =>
    Effect.gen(function*() {
      yield* sendMessages
      for (const { method, part, value } of yield* sentParts) assertAccepted(method, part, value)
    }))

  it.effect("[INIT-12] [INIT-13] the specification's schema of the revision accepts all sent messages", () =>
    Effect.gen(function*() {
      yield* sendMessages
      for (const { method, part, value } of yield* sentParts) assertInSchema(revision, method, part, value)
    }))
}
