import { RequestContext } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as net from "node:net"
import { connect, initialize, send } from "../../../support/httpClient.ts"
import { MapEventStore } from "../../../support/mapEventStore.ts"
import { until } from "../../../support/process.ts"
import { serve, text, tools } from "../../../support/server.ts"

const handlers = tools({
  now: Effect.succeed(text("now")),
  reports: Effect.as(
    Effect.forEach([1, 2, 3], (progress) => Effect.andThen(RequestContext.progress({ progress }), Effect.sleep(1))),
    text("reported")
  ),
  soon: Effect.as(Effect.sleep("5 millis"), text("soon"))
})

describe.concurrent("clients that disconnect at any time", () => {
  for (const mode of ["adaptive", "json", "stream"] as const) {
    for (const delay of [undefined, 2]) {
      it.live(`[law 2] leave no fiber (${mode}, with a ${delay === undefined ? "fast" : "slow"} store)`, () =>
        Effect.gen(function*() {
          const fibers = FiberCount.make()
          const server = yield* fibers.count(serve(handlers, {
            http: { responseMode: mode, adaptiveTimeout: "2 millis" },
            store: new MapEventStore(() => delay).service
          }))
          const client = yield* connect(server)
          let id = 0
          const known: Array<string> = []
          for (let round = 0; round < 40; round++) {
            const kind = yield* Random.nextIntBetween(0, 6)
            const tool = ["now", "reports", "soon"][kind]
            const response = kind === 5
              ? yield* send(server, { body: initialize("2025-11-25") })
              : tool === undefined
              ? yield* client.send({
                method: "GET",
                headers: kind === 4 && known.length > 0 ? { "last-event-id": known.at(-1) } : {}
              })
              : yield* client.call(id++, tool)
            // Before, during or after the response.
            const when = yield* Random.nextIntBetween(0, 5)
            if (when > 0) yield* Effect.sleep(when - 1)
            response.disconnect()
            if (response.lastId !== undefined) known.push(response.lastId)
          }
          const own = () => Effect.map(server.host.sessions, (all) => all.find((one) => one.id === client.id))
          yield* Effect.repeat(own(), { until: (one) => one?.held === 0 && one.inFlight === 0 })
          const standalone = yield* Effect.repeat(client.get(), { until: ({ status }) => status === 200 })
          assert.isFalse(standalone.ended)
          assert.strictEqual((yield* client.ping()).status, 200)
          yield* server.stop
          yield* until(() => fibers.living() === 0)
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }

  it.live("release their session although the store never returns", () =>
    Effect.gen(function*() {
      const { service } = new MapEventStore()
      const server = yield* serve(handlers, {
        store: { ...service, replay: () => Effect.never },
        http: { responseMode: "stream" }
      })
      const client = yield* connect(server)
      const call = yield* client.call(1, "now")
      yield* call.awaitEnd
      const resumed = yield* client.send({ method: "GET", headers: { "last-event-id": call.lastId } })
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 1 })
      resumed.disconnect()
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
      assert.deepStrictEqual(server.logs, [])
    }))

  for (const mode of ["adaptive", "json", "stream"] as const) {
    it.live(`leave no session if they reset the connection before the response to initialize (${mode})`, () =>
      Effect.gen(function*() {
        const server = yield* serve(handlers, { http: { responseMode: mode } })
        const posted = (text: string) =>
          "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
          + `accept: application/json, text/event-stream\r\ncontent-length: ${text.length}\r\n\r\n${text}`
        const resets = 20
        for (let count = 0; count < resets; count++) {
          const socket = net.connect(server.port, "127.0.0.1")
          let output = ""
          socket.on("error", () => {}).on("data", (chunk) => {
            output += chunk.toString()
          })
          // After this response, the server has accepted the connection.
          socket.write(posted("nonsense"))
          yield* until(() => output.includes("Parse error"))
          socket.write(posted(JSON.stringify(initialize("2025-11-25"))))
          socket.resetAndDestroy()
        }
        yield* until(() => server.events.filter(({ _tag }) => _tag === "Closed").length === resets)
        assert.strictEqual((yield* server.host.health).sessions, 0)
        assert.deepStrictEqual(
          new Set(server.events.flatMap((event) => event._tag === "Closed" ? [event.reason._tag] : [])),
          new Set(["PeerEnded"])
        )
      }))
  }

  it.live("in the middle of a request do not affect the server", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers)
      const client = yield* connect(server)
      for (
        const text of [
          "POST /mcp HTTP/1.1\r\n",
          `POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: ${client.id}\r\ncontent-type: application/json\r\n`
          + "accept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{\"jsonrpc\":",
          "nonsense\r\n\r\n"
        ]
      ) {
        const socket = net.connect(server.port, "127.0.0.1")
        let closed = false
        socket.on("error", () => {}).on("close", () => {
          closed = true
        })
        socket.write(text)
        yield* Effect.sleep("20 millis")
        socket.destroy()
        yield* until(() => closed)
        assert.strictEqual((yield* client.ping()).status, 200)
      }
      yield* Effect.repeat(server.host.sessions, { until: ([one]) => one?.held === 0 })
      yield* server.stop
      assert.deepStrictEqual(server.logs, [])
    }))
})
