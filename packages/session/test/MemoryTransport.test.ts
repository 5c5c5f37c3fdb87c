import { JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, type Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { forms, settled, start } from "./support/sessions.ts"

const note = (data: unknown) => JsonRpc.notification("note", { data })

const dataOf = ({ frame }: Transport.Inbound) => {
  const received = JsonRpc.classify(Result.getOrUndefined(frame))
  return received._tag === "Notification" ? received.message.params?.["data"] : undefined
}

const plain = (message: JsonRpc.Message): Transport.Outbound => ({ message, replyTo: undefined, last: false })

/** Connects both ends, each in its own scope. */
const open = Effect.fnUntraced(function*(pair: Effect.Effect<MemoryTransport.Pair>) {
  const ends = yield* pair
  const scopes = { client: yield* Scope.make(), server: yield* Scope.make() }
  const client = yield* Scope.provide(ends.client.connect, scopes.client)
  const server = yield* Scope.provide(ends.server.connect, scopes.server)
  client.onHandshake?.({ revision: "2025-11-25", capabilities: {}, info: { name: "x", version: "1" } })
  return { client, server, scopes }
})

describe("the in-memory transport", () => {
  for (const { form, pair } of forms) {
    it.effect(`delivers messages that were sent before the first read, in order (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* open(pair)
        for (const data of [1, 2, 3]) yield* client.send(plain(note(data)))
        const received: Array<unknown> = []
        yield* start(server.run((inbound) => received.push(dataOf(inbound))))
        assert.deepStrictEqual(received, [1, 2, 3])
        yield* client.send(plain(note(4)))
        assert.deepStrictEqual(received, [1, 2, 3, 4])
      }))

    it.effect(`delivers one frame at a time, in order, even if each one causes the next (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* open(pair)
        const received: Array<unknown> = []
        const send = (connection: Transport.Connection, data: number) =>
          Effect.runFork(connection.send(plain(note(data))))
        yield* start(server.run((inbound) => {
          const data = Number(dataOf(inbound))
          received.push(`server begins ${data}`)
          if (data < 4) {
            send(server, data + 1)
            send(server, data + 2)
          }
          received.push(`server ends ${data}`)
        }))
        yield* start(client.run((inbound) => {
          const data = Number(dataOf(inbound))
          if (data < 3) send(client, data + 10)
        }))
        send(client, 1)
        yield* settled
        assert.deepStrictEqual(received, ["server begins 1", "server ends 1", "server begins 12", "server ends 12"])
      }))

    it.effect(`ends both ends if one closes, and later sends fail with PeerEnded (${form})`, () =>
      Effect.gen(function*() {
        for (const side of ["client", "server"] as const) {
          const census = FiberCount.make()
          const { client, scopes, server } = yield* open(pair)
          const reading = yield* census.count(
            Effect.all([start(client.run(() => {})), start(server.run(() => {}))])
          )
          yield* settled
          yield* Scope.close(scopes[side], Exit.void)
          assert.deepStrictEqual(yield* Effect.forEach(reading, Fiber.join), [
            { exit: undefined, writable: false },
            { exit: undefined, writable: false }
          ])
          for (const connection of [client, server]) {
            const error = yield* Effect.flip(connection.send(plain(note(1))))
            assert.strictEqual(error.reason._tag, "PeerEnded")
          }
          yield* Scope.close(scopes[side === "client" ? "server" : "client"], Exit.void)
          yield* settled
          assert.strictEqual(census.living(), 0)
        }
      }))

    it.effect(`sends nothing until the effect of send runs, and sends once for each run (${form})`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* open(pair)
        const received: Array<unknown> = []
        yield* start(server.run((inbound) => received.push(dataOf(inbound))))
        const send = client.send(plain(note(1)))
        assert.deepStrictEqual(received, [])
        yield* send
        yield* Effect.andThen(send, send)
        assert.deepStrictEqual(received, [1, 1, 1])
        const failing = client.send(plain(note(1n)))
        assert.strictEqual((yield* Effect.flip(failing)).reason._tag, "Unserializable")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.tap(failing, () => Effect.die("continued")))))
      }))
  }

  it.effect("copies the objects of a message, unless serialization is \"none\"", () =>
    Effect.gen(function*() {
      for (const serialization of ["json", "none"] as const) {
        const { client, server } = yield* open(MemoryTransport.make({ serialization }))
        const received: Array<unknown> = []
        yield* start(server.run(({ frame }) => received.push(Result.getOrUndefined(frame))))
        const message = note({ a: [1] })
        yield* client.send(plain(message))
        assert.deepStrictEqual<unknown>(received, [message])
        assert.strictEqual(received[0] === message, serialization === "none")
      }
    }))

  it.effect("has a stream for each request, which ends after the reply, endExchange or an interruption", () =>
    Effect.gen(function*() {
      const { client, server } = yield* open(MemoryTransport.makeMultiStream())
      const origins: Array<Transport.StreamOrigin> = []
      const replies: Array<unknown> = []
      yield* start(server.run(({ origin }) => origin !== undefined && origins.push(origin)))
      yield* start(client.run(({ frame }) => replies.push(Result.getOrUndefined(frame))))
      const { request } = client
      assert.isDefined(request)
      const openStream = (id: number) => start(request(JsonRpc.request(id, "x", undefined)))
      const [replied, ended, interrupted] = [yield* openStream(1), yield* openStream(2), yield* openStream(3)]
      assert.strictEqual(new Set(origins).size, 3)
      const replyTo = (index: number) => {
        const origin = origins[index]
        assert.isDefined(origin)
        return origin
      }
      yield* server.send({ message: note("first"), replyTo: replyTo(0), last: false })
      assert.isUndefined(replied.pollUnsafe())
      yield* server.send({ message: JsonRpc.success(1, {}), replyTo: replyTo(0), last: true })
      yield* Fiber.join(replied)
      assert.deepStrictEqual<unknown>(replies, [note("first"), JsonRpc.success(1, {})])
      server.endExchange?.(replyTo(1))
      yield* Fiber.join(ended)
      yield* Fiber.interrupt(interrupted)
      for (const index of [0, 1, 2]) {
        const error = yield* Effect.flip(server.send({ message: note("late"), replyTo: replyTo(index), last: false }))
        assert.deepStrictEqual(error.reason, { _tag: "NoRoute", method: "note" })
      }
      const error = yield* Effect.flip(server.send(plain(note("nowhere"))))
      assert.strictEqual(error.reason._tag, "NoRoute")
    }))
})
