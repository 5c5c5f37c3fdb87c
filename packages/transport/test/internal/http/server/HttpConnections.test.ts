import { MemoryBudget } from "@effect-mcp/session"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createServer } from "node:http"
import * as HttpConnections from "../../../../src/internal/http/server/HttpConnections.ts"
import * as StreamWatchdog from "../../../../src/internal/http/server/StreamWatchdog.ts"
import { until } from "../../../support/process.ts"
import { connectRaw, postText } from "../../../support/rawConnection.ts"

describe("a connection that has closed", () => {
  it.live("leaves no timeout, also with an infinite writeTimeout", () =>
    Effect.gen(function*() {
      const watchdog = yield* StreamWatchdog.make({
        keepAliveMillis: Number.POSITIVE_INFINITY,
        stallMillis: Number.POSITIVE_INFINITY,
        detachedMillis: Number.POSITIVE_INFINITY
      })
      const timeouts = new Set<StreamWatchdog.Timeout>()
      let scheduled = 0
      const connections = HttpConnections.make({
        ...watchdog,
        schedule: (afterMillis, run) => {
          const timeout = watchdog.schedule(afterMillis, run)
          timeouts.add(timeout)
          scheduled++
          return timeout
        },
        cancel: (timeout) => {
          timeouts.delete(timeout)
          watchdog.cancel(timeout)
        }
      }, {
        maxPipelinedRequests: 8,
        maxUnreadBytes: 1000,
        maxTotalUnreadBytes: 1000,
        budget: MemoryBudget.make(),
        stallMillis: Number.POSITIVE_INFINITY
      })
      const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
      yield* server.serve(Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        (request) => connections.serve(request, () => Effect.succeed(HttpServerResponse.text("here")))
      ))
      const connection = yield* connectRaw({ port: "port" in server.address ? server.address.port : 0 })
      connection.write(postText("{}"))
      connection.write(postText("{}"))
      yield* until(() => connection.statuses.length === 2)
      assert.deepStrictEqual([scheduled, timeouts.size], [1, 1])
      connection.socket.destroy()
      yield* until(() => timeouts.size === 0)
    }))
})
