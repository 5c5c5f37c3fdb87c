import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as path from "node:path"
import * as UnixListener from "../../../src/internal/socket/UnixListener.ts"
import { until } from "../../support/process.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { connect } from "../../support/unixServer.ts"

/** Sends all input back, until it ends. */
const echo = (socket: Socket.Socket) =>
  Effect.gen(function*() {
    const pull = yield* Socket.readerBytes(socket)
    const { writeAll } = yield* socket.writer
    return yield* Effect.forever(Effect.flatMap(pull, writeAll))
  }).pipe(Effect.scoped, Effect.ignore)

const listen = Effect.gen(function*() {
  const at = path.join(yield* temporaryDirectory, "s")
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const server = yield* Scope.provide(UnixListener.make(at, 0o600), scope)
  return { at, server, close: Scope.close(scope, Exit.void) }
})

it.live("a client that connects before the server runs is served later, with its early input", () =>
  Effect.gen(function*() {
    const { at, server } = yield* listen
    const client = yield* connect({ path: at })
    client.send({ data: "early" })
    yield* Effect.sleep("20 millis")
    const serving = yield* Effect.forkChild(server.run(echo))
    yield* until(() => client.messages.length === 1)
    assert.deepStrictEqual(client.messages, [{ data: "early" }])
    yield* Fiber.interrupt(serving)
    yield* client.awaitEnd
    // The server can run again.
    yield* Effect.forkChild(server.run(echo))
    const second = yield* connect({ path: at })
    second.send({ data: "later" })
    yield* until(() => second.messages.length === 1)
  }))

it.live("a client that is not served does not delay the close", () =>
  Effect.gen(function*() {
    const { at, close } = yield* listen
    const client = yield* connect({ path: at })
    yield* Effect.sleep("20 millis")
    yield* close
    yield* client.awaitEnd
  }))
