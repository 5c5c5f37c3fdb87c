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

/** Reads all bytes, and returns the largest number of chunks in one turn of the event loop. */
const mostInTurn = (reader: net.Socket): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    let most = 0
    let inTurn = 0
    let bytes = 0
    reader.on("data", (chunk: Uint8Array) => {
      if (inTurn++ === 0) {
        setImmediate(() => {
          inTurn = 0
        })
      }
      most = Math.max(most, inTurn)
      bytes += chunk.length
      if (bytes >= 8 * pieceBytes) resume(Effect.succeed(most))
    })
    reader.resume()
  })

describe("the TCP socket below a WebSocket", () => {
  it.live("is read one chunk at a time while `isWanted` returns true", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      TcpBackpressure.make(reader, () => {}).readInTurns?.(() => true)
      // One chunk was read before the pause.
      assert.isAtMost(yield* mostInTurn(reader), 2)
    }))

  it.live("is read without turns while `isWanted` returns false", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      TcpBackpressure.make(reader, () => {}).readInTurns?.(() => false)
      assert.isAbove(yield* mostInTurn(reader), 2)
    }))

  it.live("stays paused if its reader has paused it", () =>
    Effect.gen(function*() {
      const { reader } = yield* connection
      reader.on("data", () => void reader.pause())
      TcpBackpressure.make(reader, () => {}).readInTurns?.(() => true)
      const first = Effect.callback<void>((resume) => {
        reader.once("data", () => void setImmediate(() => setImmediate(() => resume(Effect.void))))
        reader.resume()
      })
      yield* first
      assert.isTrue(reader.isPaused())
      assert.isAtMost(reader.bytesRead, 2 * pieceBytes)
    }))
})
