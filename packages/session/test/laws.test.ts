import { type JsonRpc, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import { Command } from "./laws/commands.ts"
import { type Call, type History, hold } from "./laws/conversation.ts"

const commands = Arbitrary.array(Arbitrary.schema(Command), { maxLength: 16 })

const isRequest = (message: JsonRpc.Message): message is JsonRpc.Request => "method" in message && "id" in message
const isResponse = (message: JsonRpc.Message): message is JsonRpc.Response => !("method" in message)
const isNamed = (name: string) => (message: JsonRpc.Message): message is JsonRpc.Notification =>
  "method" in message && message.method === name && !("id" in message)

const seen = (history: History, side: "client" | "server", direction: "sent" | "received") =>
  history.records.filter((record) => record.side === side && record.direction === direction).map((record) =>
    record.message
  )

const failureOf = (call: Call) => {
  if (Exit.isSuccess(call.exit)) return undefined
  const found = Cause.findError(call.exit.cause)
  if (Result.isFailure(found)) return Cause.hasInterruptsOnly(call.exit.cause) ? "Interrupted" : "Died"
  const { reason } = found.success
  return reason._tag === "ErrorResponse" && reason.error.message === "The session is closing" ? "Refused" : reason._tag
}

const legalEnds: { readonly [tool: string]: ReadonlyArray<string | undefined> } = {
  echo: [undefined],
  later: [undefined],
  never: [],
  steps: [undefined],
  stubborn: [undefined],
  // What its question to the client meets is answered as an error: the session may close meanwhile.
  ask: [undefined, "ErrorResponse"],
  die: ["ErrorResponse"],
  refuse: ["ErrorResponse"]
}

/** Each law speaks of one history. */
const laws: { readonly [law: string]: (history: History) => void } = {
  "law 1: every call ends once, in a way that this call can end": (history) => {
    for (const call of history.calls) {
      const how = failureOf(call)
      const legal = ["Timeout", "Closed", "Refused", "Interrupted", "SendFailed", ...(legalEnds[call.tool] ?? [])]
      assert.include(legal, how, `call ${call.nonce} of ${call.tool}`)
    }
  },
  "law 2: nothing is left": (history) => {
    assert.strictEqual(history.fibersLeft, 0, "fibers")
    assert.deepStrictEqual(history.left, [{ sent: 0, served: 0 }, { sent: 0, served: 0 }])
    assert.deepStrictEqual(history.states, ["Closed", "Closed"])
  },
  "law 3: a result belongs to the call that has it": (history) => {
    for (const call of history.calls) {
      if (!Exit.isSuccess(call.exit)) continue
      assert.deepStrictEqual(call.exit.value.content, [{ type: "text", text: String(call.nonce) }])
    }
  },
  "law 4: progress comes in order and whole, and none after the response": (history) => {
    for (const call of history.calls) {
      assert.deepStrictEqual(call.steps, call.steps.toSorted((a, b) => a - b))
      if (call.tool === "steps" && Exit.isSuccess(call.exit)) assert.deepStrictEqual(call.steps, [1, 2, 3, 4])
    }
    const answered = new Set<unknown>()
    for (const message of seen(history, "server", "sent")) {
      if (isResponse(message)) answered.add(message.id)
      if (isNamed("notifications/progress")(message)) {
        assert.isFalse(answered.has(message.params?.["progressToken"]), "progress after the response")
      }
    }
  },
  "law 5: at most one reply to each request, none to one that was cancelled before it": (history) => {
    for (const side of ["client", "server"] as const) {
      const replies = new Map<unknown, number>()
      const cancelled = new Set<unknown>()
      for (const record of history.records) {
        if (record.side !== side) continue
        const { direction, message } = record
        if (direction === "received" && isNamed("notifications/cancelled")(message)) {
          if (!replies.has(message.params?.["requestId"])) cancelled.add(message.params?.["requestId"])
        }
        if (direction === "sent" && isResponse(message) && message.id !== undefined && message.id !== null) {
          assert.isFalse(cancelled.has(message.id), `${side} replied to ${message.id} after it was cancelled`)
          replies.set(message.id, (replies.get(message.id) ?? 0) + 1)
        }
      }
      for (const [id, count] of replies) if (id !== "again") assert.strictEqual(count, 1, `${side} replied to ${id}`)
    }
  },
  "law 6: nothing that is injected changes what was agreed": (history) => {
    assert.strictEqual(history.revision, Revision.latest)
    assert.strictEqual(seen(history, "client", "sent").filter(isNamed("notifications/initialized")).length, 1)
  },
  "law 8: a cancellation is sent at most once, for a request that was sent, and never for initialize": (history) => {
    const sent = seen(history, "client", "sent")
    const ids = new Set(sent.filter(isRequest).map((message) => message.id))
    const cancelled = sent.filter(isNamed("notifications/cancelled")).map((message) => message.params?.["requestId"])
    assert.strictEqual(new Set(cancelled).size, cancelled.length)
    for (const id of cancelled) {
      assert.isTrue(typeof id === "number" && ids.has(id), `cancelled ${String(id)}`)
      assert.notStrictEqual(id, 0)
    }
  },
  "[MSG-05] ids are never used twice": (history) => {
    for (const side of ["client", "server"] as const) {
      const ids = seen(history, side, "sent").filter(isRequest).map((message) => message.id)
      assert.strictEqual(new Set(ids).size, ids.length)
    }
  }
}

describe("laws of a conversation, over random commands in virtual time", () => {
  for (const form of ["one stream", "a stream for each request"] as const) {
    it.effect.prop(
      `${form}: ${Object.keys(laws).join("; ")}`,
      { commands },
      Effect.fnUntraced(function*({ commands }) {
        const history = yield* hold(form, commands)
        for (const law of Object.values(laws)) law(history)
      }),
      { arbitrary: { runs: 400 }, timeout: 60_000 }
    )
  }
})
