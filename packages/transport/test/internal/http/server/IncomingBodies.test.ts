import { MemoryBudget } from "@effect-mcp/session"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createServer } from "node:http"
import * as IncomingBodies from "../../../../src/internal/http/server/IncomingBodies.ts"
import * as StreamWatchdog from "../../../../src/internal/http/server/StreamWatchdog.ts"
import { connectRaw, postText } from "../../../support/rawConnection.ts"

describe("an arriving body", () => {
  it.live("may break when the server stops reading it: the late error does not end the process", () =>
    Effect.gen(function*() {
      const watchdog = yield* StreamWatchdog.make({
        keepAliveMillis: Number.POSITIVE_INFINITY,
        stallMillis: Number.POSITIVE_INFINITY,
        detachedMillis: Number.POSITIVE_INFINITY
      })
      const budget = MemoryBudget.make()
      const bodies = IncomingBodies.make(watchdog, {
        maxMessageBytes: 1000,
        maxTotalIncomingBytes: 1000,
        budget,
        bodyMillis: Number.POSITIVE_INFINITY
      })
      const reported = Deferred.makeUnsafe<ReadonlyArray<string>>()
      const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
      yield* server.serve(Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        const message = NodeHttpServerRequest.toIncomingMessage(request)
        const receiving = yield* Effect.forkChild(bodies.receive(request), { startImmediately: true })
        const events: Array<string> = []
        message.once("close", () => {
          events.push("closed")
          Deferred.doneUnsafe(reported, Effect.succeed(events))
        })
        // Node decides one tick after this event that it reports an error, and reports it one tick later.
        message.once("aborted", () =>
          process.nextTick(() =>
            process.nextTick(() => {
              receiving.interruptUnsafe()
              events.push("interrupted")
            })
          ))
        message.socket.destroy()
        yield* Effect.exit(Fiber.join(receiving))
        return HttpServerResponse.empty()
      }))
      const connection = yield* connectRaw({ port: "port" in server.address ? server.address.port : 0 })
      connection.write(postText("{", { "content-length": "100" }))
      assert.deepStrictEqual(yield* Deferred.await(reported), ["interrupted", "closed"])
      assert.strictEqual(budget.usedBytes(), 0)
    }))
})
