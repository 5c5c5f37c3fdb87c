import { SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  HttpSseServer,
  StatelessHttpServer,
  StreamableHttpServer,
  WebSocketServer
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import { createServer } from "node:net"

const info = { name: "test", version: "0.0.0" }

/** Listens on a free port for as long as the scope is open. Returns the port. */
const occupied = (host: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: Effect.Effect<void> }>((resume) => {
      const server = createServer()
      server.listen({ host, port: 0 }, () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({ port, close: Effect.callback<void>((done) => void server.close(() => done(Effect.void))) })
        )
      })
    }),
    ({ close }) => close
  )

const servers = {
  "Streamable HTTP": (port: number, hostname?: string) => StreamableHttpServer.layerNode({ port, hostname }),
  "Streamable HTTP without sessions": (port: number, hostname?: string) =>
    StatelessHttpServer.layerNode({}, { port, hostname, info }),
  "HTTP+SSE": (port: number, hostname?: string) => HttpSseServer.layerNode({ port, hostname }),
  WebSocket: (port: number, hostname?: string) => WebSocketServer.layerNode({ port, hostname })
}

const failureOf = <A>(
  server: Layer.Layer<A, ServeError, Authentication.Authentication | SessionHost.SessionHost>
) =>
  Effect.flip(Effect.scoped(Layer.build(server.pipe(
    Layer.provide(SessionHost.layer({}, { info })),
    Layer.provide(Authentication.anonymous)
  ))))

describe("an address that cannot be used", () => {
  for (const [name, server] of Object.entries(servers)) {
    it.live(`${name} on a port in use fails with the address, the reason and the remedy`, () =>
      Effect.gen(function*() {
        const { port } = yield* occupied("127.0.0.1")
        const error = yield* failureOf(server(port))
        assert.strictEqual(error._tag, "ServeError")
        assert.strictEqual(
          error.message,
          `cannot listen on 127.0.0.1:${port}: EADDRINUSE, another listener uses this port; stop it, or set another ` +
            "port (0 takes any free one)"
        )
        assert.include(String(error.cause), "EADDRINUSE")
        // The log of a program that ends with this error.
        assert.include(Cause.pretty(Cause.fail(error)), error.message)
      }).pipe(Effect.scoped))
  }

  it.live("an address of another machine is named", () =>
    Effect.gen(function*() {
      // The addresses of this block are for documentation only (RFC 5737).
      const error = yield* failureOf(StreamableHttpServer.layerNode({ port: 0, hostname: "192.0.2.1" }))
      assert.strictEqual(
        error.message,
        "cannot listen on 192.0.2.1:0: EADDRNOTAVAIL, this machine does not have this address; set hostname to one " +
          "that it has"
      )
    }))
})
