import { JsonRpc } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertAccepted } from "../../../protocol/test/official.ts"
import { assertInSchema } from "../../../protocol/test/officialSchemas.ts"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import type { Conditions, Host } from "./conditions.ts"
import { serverRequest } from "./results.ts"

interface SentPart {
  readonly method: string
  readonly part: "params" | "result"
  readonly value: unknown
}

/** Returns the params and results that the host has sent. Errors are omitted, because all revisions have the same. */
const sentParts = ({ entries }: Host): ReadonlyArray<SentPart> => {
  const methods = new Map<unknown, string>()
  const sent: Array<JsonRpc.Message> = []
  for (const entry of entries) {
    if (entry._tag === "Sent") sent.push(...JsonRpc.messages(entry.frame))
    else if (entry._tag === "Received" && typeof entry.frame === "object" && entry.frame !== null) {
      if ("method" in entry.frame && "id" in entry.frame) methods.set(entry.frame.id, String(entry.frame.method))
    }
  }
  return sent.flatMap((message): ReadonlyArray<SentPart> => {
    if ("method" in message) return [{ method: message.method, part: "params", value: message.params ?? {} }]
    return "result" in message
      ? [{ method: methods.get(message.id) ?? "", part: "result", value: message.result }]
      : []
  }).filter(({ method }) => method !== "initialize" && !method.startsWith("abacus/"))
}

/** Sends some messages, so that these tests also work without the others. */
const sendMessages = Effect.gen(function*() {
  const { complete, getPrompt, setLogLevel } = yield* ClientSession.ClientSession
  yield* getPrompt("add", { beads: "1" })
  yield* setLogLevel("info")
  yield* complete({
    ref: { type: "ref/prompt", name: "add" },
    argument: { name: "more", value: "2" },
    context: { arguments: { beads: "1" } }
  })
  yield* serverRequest("roots/list")
})

/** Registered last, because these tests check all messages of the tests before. */
export const messages = ({ host, it, revision }: Conditions) => {
  it.effect("[INIT-12] [INIT-13] no sent message has anything that a reader of the revision would misread", () =>
    Effect.gen(function*() {
      yield* sendMessages
      assert.deepStrictEqual(
        sentParts(host).flatMap(({ method, part, value }) =>
          misreadBy(revision, method, part, value).map((problem) => `${method}: ${problem}`)
        ),
        []
      )
    }))

  // One call has invalid params on purpose.
  const isInvalidOnPurpose = ({ value }: SentPart) => JSON.stringify(value) === "{\"name\":5}"

  it.effect("[INIT-12] [INIT-13] the specification's schema of the revision accepts all sent messages", () =>
    Effect.gen(function*() {
      yield* sendMessages
      for (const part of sentParts(host)) {
        if (!isInvalidOnPurpose(part)) assertInSchema(revision, part.method, part.part, part.value)
      }
    }))

  it.effect("[MSG-01] the validators of both SDKs accept all sent messages", () =>
    Effect.gen(function*() {
      yield* sendMessages
      for (const part of sentParts(host)) {
        if (!isInvalidOnPurpose(part)) assertAccepted(part.method, part.part, part.value)
      }
    }))

  it.effect("[MSG-07] [MSG-12] no response is unmatched, and no message is malformed", () =>
    Effect.gen(function*() {
      yield* sendMessages
      assert.deepStrictEqual(
        host.events.filter(({ _tag }) => ["UnmatchedResponse", "BadFrame", "Malformed", "SendFailed"].includes(_tag)),
        []
      )
    }))
}
