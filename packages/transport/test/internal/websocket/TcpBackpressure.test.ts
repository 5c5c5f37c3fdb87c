import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as net from "node:net"
import * as TcpBackpressure from "../../../src/internal/websocket/TcpBackpressure.ts"

const pieceBytes = 65_536

/** Opens a connection within this process. The reader is paused, and as many bytes wait for it as the system takes. */
const connection = Effect.acquireRelease(
  Effect.callback<{ readonly reader: net.Socket; readonly server: net.Server }>((resume) => {
    const server = net.createServer((reader) => {
      reader.pause()
      writer.write(Buffer.alloc(16 * pieceBytes))
      setImmediate(() => resume(Effect.succeed({ reader, server })))
    })
    const writer = new net.Socket()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      writer.connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1")
    })
    writer.on("error", () => {})
  }),
  ({ reader, server }) =>
    Effect.sync(() => {
      reader.destroy()
      server.close()
    })
)

/** Waits for turns of the event loop, in which a socket that is not paused is read. */
const someTurns = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))

describe("the TCP socket below a WebSocket", () => {
  it.live("[law 12] is read one chunk further while messages wait", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      const control = TcpBackpressure.make(reader, () => {})
      control.setWaiting?.(true)
      reader.resume()
      yield* someTurns
      assert.isTrue(reader.isPaused())
      // Two chunks: one was read before the pause.
      assert.isAtMost(reader.bytesRead, 2 * pieceBytes)
      control.setWaiting?.(false)
      yield* someTurns
      assert.isFalse(reader.isPaused())
      assert.strictEqual(reader.bytesRead, 16 * pieceBytes)
    }))

  it.live("stays paused if messages wait again in the same turn", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      const control = TcpBackpressure.make(reader, () => {})
      control.setWaiting?.(true)
      reader.resume()
      yield* someTurns
      const before = reader.bytesRead
      control.setWaiting?.(false)
      control.setWaiting?.(true)
      yield* someTurns
      assert.isTrue(reader.isPaused())
      assert.strictEqual(reader.bytesRead, before)
    }))

  it.live("stays paused if the WebSocket has paused it", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      reader.on("data", () => void reader.pause())
      const control = TcpBackpressure.make(reader, () => {})
      control.setWaiting?.(true)
      reader.resume()
      yield* someTurns
      control.setWaiting?.(false)
      yield* someTurns
      assert.isTrue(reader.isPaused())
    }))
})
