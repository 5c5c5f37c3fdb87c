import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as path from "node:path"
import * as UnixListener from "../../../src/internal/unix/UnixListener.ts"
import { until } from "../../fixtures/process.ts"
import { temporaryDirectory } from "../../support/directory.ts"
import { connect } from "../../support/unixServer.ts"

/** Answers whatever comes with the same, until it ends. */
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

it.live("whoever comes while nobody serves is served later, with what it said meanwhile", () =>
  Effect.gen(function*() {
    const { at, server } = yield* listen
    const client = yield* connect({ path: at })
    client.say({ said: "early" })
    yield* Effect.sleep("20 millis")
    const serving = yield* Effect.forkChild(server.run(echo))
    yield* until(() => client.messages.length === 1)
    assert.deepStrictEqual(client.messages, [{ said: "early" }])
    yield* Fiber.interrupt(serving)
    yield* client.over
    // It can be served again.
    yield* Effect.forkChild(server.run(echo))
    const second = yield* connect({ path: at })
    second.say({ said: "later" })
    yield* until(() => second.messages.length === 1)
  }))

it.live("whoever is not served does not keep it from closing", () =>
  Effect.gen(function*() {
    const { at, close } = yield* listen
    const client = yield* connect({ path: at })
    yield* Effect.sleep("20 millis")
    yield* close
    yield* client.over
  }))
