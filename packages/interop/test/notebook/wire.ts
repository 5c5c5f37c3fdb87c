import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertAccepted } from "../../../protocol/test/official.ts"
import { assertInSchema } from "../../../protocol/test/officialSchemas.ts"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import { all, OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { members } from "./results.ts"

interface Said {
  readonly method: string
  readonly part: "params" | "result"
  readonly value: unknown
}

/** What the server has said so far, by the methods it belongs to; errors, which are the same in all revisions, left out. */
const said = Effect.map(OfficialClient, ({ received, sent }): ReadonlyArray<Said> => {
  const requests = sent.map(members).filter(({ method }) => method !== undefined)
  const asked = new Map(requests.map(({ id, method }) => [id, String(method)]))
  return received.map(members).flatMap(({ id, method, params = {}, result }): ReadonlyArray<Said> => {
    if (method !== undefined) return [{ method: String(method), part: "params", value: params }]
    return result === undefined ? [] : [{ method: asked.get(id) ?? "", part: "result", value: result }]
  }).filter(({ method }) => method !== "initialize" && !method.startsWith("notebook/"))
})

/** A bit of everything, for a run of these tests alone. */
const conversation = Effect.gen(function*() {
  const { request } = yield* OfficialClient
  yield* all(request.listTools, "tools")
  yield* all(request.listPrompts, "prompts")
  yield* all(request.listResources, "resources")
  yield* request.getPrompt({ name: "illustrate", arguments: { note: "plan" } })
  yield* result("show", { name: "plan" })
  yield* result("search", { word: "sea" })
})

/** To be registered last, since it looks at all that was said before. */
export const wire = ({ it, revision }: Conditions) => {
  it.effect("[INIT-12] [INIT-13] nothing was sent that a reader of the revision would misread", () =>
    Effect.gen(function*() {
      yield* conversation
      assert.deepStrictEqual(
        (yield* said).flatMap(({ method, part, value }) =>
          misreadBy(revision, method, part, value).map((problem) => `${method}: ${problem}`)
        ),
        []
      )
    }))

  it.effect("[MSG-01] the validators of both SDKs take all that was sent", () =>
    Effect.gen(function*() {
      yield* conversation
      for (const { method, part, value } of yield* said) assertAccepted(method, part, value)
    }))

  it.effect("[INIT-12] [INIT-13] the specification's schema of the revision accepts all that was sent", () =>
    Effect.gen(function*() {
      yield* conversation
      for (const { method, part, value } of yield* said) assertInSchema(revision, method, part, value)
    }))
}
