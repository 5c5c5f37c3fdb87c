import { JsonRpc } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertAccepted } from "../../../protocol/test/official.ts"
import { assertInSchema } from "../../../protocol/test/officialSchemas.ts"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import type { Conditions, Host } from "./conditions.ts"
import { asked } from "./results.ts"

interface Said {
  readonly method: string
  readonly part: "params" | "result"
  readonly value: unknown
}

/** What the host has said so far, by the methods it belongs to; errors, which are the same in all revisions, left out. */
const said = ({ entries }: Host): ReadonlyArray<Said> => {
  const asked = new Map<unknown, string>()
  const sent: Array<JsonRpc.Message> = []
  for (const entry of entries) {
    if (entry._tag === "Sent") sent.push(...JsonRpc.messages(entry.frame))
    else if (entry._tag === "Received" && typeof entry.frame === "object" && entry.frame !== null) {
      if ("method" in entry.frame && "id" in entry.frame) asked.set(entry.frame.id, String(entry.frame.method))
    }
  }
  return sent.flatMap((message): ReadonlyArray<Said> => {
    if ("method" in message) return [{ method: message.method, part: "params", value: message.params ?? {} }]
    return "result" in message
      ? [{ method: asked.get(message.id) ?? "", part: "result", value: message.result }]
      : []
  }).filter(({ method }) => method !== "initialize" && !method.startsWith("abacus/"))
}

/** A bit of everything, for a run of these tests alone. */
const conversation = Effect.gen(function*() {
  const { complete, getPrompt, setLogLevel } = yield* ClientSession.ClientSession
  yield* getPrompt("add", { beads: "1" })
  yield* setLogLevel("info")
  yield* complete({
    ref: { type: "ref/prompt", name: "add" },
    argument: { name: "more", value: "2" },
    context: { arguments: { beads: "1" } }
  })
  yield* asked("roots/list")
})

/** To be registered last, since it looks at all that was said before. */
export const wire = ({ host, it, revision }: Conditions) => {
  it.effect("[INIT-12] [INIT-13] nothing was sent that a reader of the revision would misread", () =>
    Effect.gen(function*() {
      yield* conversation
      assert.deepStrictEqual(
        said(host).flatMap(({ method, part, value }) =>
          misreadBy(revision, method, part, value).map((problem) => `${method}: ${problem}`)
        ),
        []
      )
    }))

  // One call was made not to fit.
  const isMisfit = ({ value }: Said) => JSON.stringify(value) === "{\"name\":5}"

  it.effect("[INIT-12] [INIT-13] the specification's schema of the revision accepts all that was sent", () =>
    Effect.gen(function*() {
      yield* conversation
      for (const one of said(host)) if (!isMisfit(one)) assertInSchema(revision, one.method, one.part, one.value)
    }))

  it.effect("[MSG-01] the validators of both SDKs take all that was sent", () =>
    Effect.gen(function*() {
      yield* conversation
      for (const one of said(host)) if (!isMisfit(one)) assertAccepted(one.method, one.part, one.value)
    }))

  it.effect("[MSG-07] [MSG-12] no answer went astray", () =>
    Effect.gen(function*() {
      yield* conversation
      assert.deepStrictEqual(
        host.events.filter(({ _tag }) => ["UnmatchedResponse", "BadFrame", "Malformed", "SendFailed"].includes(_tag)),
        []
      )
    }))
}
