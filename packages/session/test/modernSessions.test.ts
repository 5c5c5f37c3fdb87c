/** Clients of every revision over `ServerSession`, which serves both eras on one connection. */
import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { connected, forms, names, reasonOf, settled, start, text, tools, traced } from "./support/sessions.ts"

const revisions = ["2025-06-18", "2026-07-28"] as const

const form = { type: "object", properties: { name: { type: "string" } } } as const

const greet = Effect.gen(function*() {
  const answer = yield* Effect.mapError(
    RequestContext.elicit({ message: "Name?", requestedSchema: form }),
    ({ message }) => McpError.invalidRequest(message)
  )
  return text(`Hello, ${String(answer.content?.["name"])}`)
})

const answers = ClientSession.handlers({
  "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
})

for (const { form, pair } of forms) {
  describe(`a session without a handshake (${form})`, () => {
    it.effect("calls tools, receives progress, and answers questions", () =>
      Effect.gen(function*() {
        const { client, links } = yield* connected({
          pair,
          handlers: tools({
            greet,
            count: Effect.as(Effect.forEach([1, 2], (progress) => RequestContext.progress({ progress })), text("2"))
          }),
          client: { revisions, handlers: answers }
        })
        assert.strictEqual(client.profile.revision, "2026-07-28")
        assert.deepStrictEqual((yield* client.callTool("greet")).content, text("Hello, Ada").content)
        const steps: Array<number> = []
        yield* client.callTool("count", {}, {
          onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
        })
        assert.deepStrictEqual(steps, [1, 2])
        assert.deepStrictEqual(
          names(links.client.sent),
          ["server/discover", "tools/call", "tools/call", "tools/call"]
        )
      }))

    it.effect("interrupts the handler of a call whose caller is interrupted", () =>
      Effect.gen(function*() {
        const first = traced(Effect.never)
        const { client } = yield* connected({
          pair,
          handlers: tools({ wait: first.effect }),
          client: { revisions }
        })
        const calling = yield* start(client.callTool("wait"))
        yield* settled
        yield* Fiber.interrupt(calling)
        yield* settled
        assert.deepStrictEqual(first.seen, ["started", "interrupted"])
      }))

    it.effect("sends no requests and no notifications of the server, which the client would ignore", () =>
      Effect.gen(function*() {
        const { client, links, server } = yield* connected({
          pair,
          handlers: tools({ greet: Effect.succeed(text("Hello")) }),
          client: { revisions, handlers: answers }
        })
        yield* client.callTool("greet")
        for (const request of [server.ping(), server.listRoots()]) {
          const error = yield* Effect.flip(request)
          assert.strictEqual(error.reason._tag, "NotInRevision")
        }
        for (const notification of [server.log({ level: "info", data: "hello" }), server.toolListChanged]) {
          const error = yield* Effect.flip(notification)
          assert.strictEqual(error.reason._tag, "WrongState")
        }
        assert.deepStrictEqual(links.client.received.filter((frame) => JsonRpc.classify(frame)._tag !== "Response"), [])
      }))

    it.effect("closes with its calls", () =>
      Effect.gen(function*() {
        const waiting = traced(Effect.never)
        const { client, records, server } = yield* connected({
          pair,
          handlers: tools({ wait: waiting.effect }),
          client: { revisions }
        })
        const calling = yield* start(client.callTool("wait"))
        yield* settled
        yield* client.close
        assert.strictEqual((yield* reasonOf(calling))._tag, "Closed")
        yield* server.closed
        assert.deepStrictEqual(waiting.seen, ["started", "interrupted"])
        assert.deepStrictEqual(records.client.of("Closed").map(({ unfinished }) => unfinished), [[]])
      }))
  })
}

describe("the eras of a client and a server", () => {
  const cases = [
    { client: ["2026-07-28"], server: ["2026-07-28"], agreed: "2026-07-28" },
    { client: ["2026-07-28"], server: ["2025-11-25"], agreed: "LegacyServer" },
    { client: revisions, server: ["2026-07-28"], agreed: "2026-07-28" },
    { client: revisions, server: ["2025-06-18"], agreed: "2025-06-18" },
    { client: ["2025-11-25"], server: ["2026-07-28"], agreed: "NoCommonRevision" },
    { client: ["2025-06-18"], server: revisions, agreed: "2025-06-18" },
    { client: ["2025-06-18"], server: ["2025-11-25"], agreed: "UnsupportedRevision" },
    { client: revisions, server: ["2025-11-25"], agreed: "UnsupportedRevision" },
    { client: ["2026-07-28"], server: revisions, agreed: "2026-07-28" },
    { client: revisions, server: revisions, agreed: "2026-07-28" }
  ] as const
  for (const { agreed, client: ofClient, server: ofServer } of cases) {
    for (const pair of [MemoryTransport.make(), MemoryTransport.makeMultiStream()]) {
      it.effect(`${ofClient.join(", ")} with ${ofServer.join(", ")}: ${agreed}`, () =>
        Effect.gen(function*() {
          const outcome = yield* connected({
            pair,
            client: { revisions: ofClient },
            server: { revisions: ofServer }
          }).pipe(
            Effect.match({
              onSuccess: ({ client }) => client.profile.revision,
              onFailure: (error) => error._tag === "HandshakeError" ? error.reason._tag : error._tag
            })
          )
          assert.strictEqual<string>(outcome, agreed)
        }))
    }
  }
})
