/** The laws, checked on a transport outside of the library (`socketTransport.ts`). */
import { ClientSession, ServerSession } from "@effect-mcp/session"
import { LawServer } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import * as SocketTransport from "../src/socketTransport.ts"
import { subject } from "./support/socketSubject.ts"

TransportSuite.suite("a transport over a socket", subject(SocketTransport.over))

const info = { name: "effect-mcp", version: "0.1.0" }

/** Serves each connection on a free port until the scope closes. Returns the port. */
const listen = Effect.gen(function*() {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  return yield* Effect.acquireRelease(
    Effect.callback<{ readonly listener: Net.Server; readonly port: number }>((resume) => {
      const listener = Net.createServer({ allowHalfOpen: true }, (socket) => {
        fork(
          Effect.provide(ServerSession.serve(LawServer.make(), LawServer.options), SocketTransport.over(socket))
        )
      })
      listener.listen(0, "127.0.0.1", () => {
        const address = listener.address()
        if (address !== null && typeof address === "object") resume(Effect.succeed({ listener, port: address.port }))
      })
    }),
    ({ listener }) =>
      Effect.callback<void>((resume) => {
        listener.close(() => resume(Effect.void))
      })
  )
})

describe("the client's end", () => {
  it.live("opens a socket for each session, and leaves none open after the sessions have ended", () =>
    Effect.gen(function*() {
      const { port } = yield* listen
      const client = Effect.provide(ClientSession.make({ info }), SocketTransport.connectTo(port))
      const [one, two] = yield* Effect.all([client, client])
      assert.deepStrictEqual((yield* one.callTool("echo", { value: 1 })).structuredContent, { value: 1 })
      yield* one.close
      assert.deepStrictEqual((yield* two.callTool("echo", { value: 2 })).structuredContent, { value: 2 })
      // The listener closes only after its last socket: a socket that stays open makes the test time out.
    }).pipe(Effect.scoped))

  it.live("fails with the address that it could not connect to", () =>
    Effect.gen(function*() {
      const { port } = yield* Effect.scoped(listen)
      const error = yield* Effect.flip(Effect.provide(ClientSession.make({ info }), SocketTransport.connectTo(port)))
      assert.include(error.message, `could not connect to 127.0.0.1:${port}`)
    }).pipe(Effect.scoped))
})
