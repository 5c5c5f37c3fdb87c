import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import * as SocketFile from "../../../src/internal/socket/SocketFile.ts"
import { listen } from "../../support/listeningSocket.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"

const isConnectable = (at: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = Net.connect(at)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })

describe("the file of a socket", () => {
  it.live("appears only after a server listens and the file has its mode", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* SocketFile.make(at, 0o640, (made) =>
        Effect.gen(function*() {
          const server = yield* listen(made)
          assert.strictEqual(fs.statSync(path.dirname(made)).mode & 0o777, 0o700)
          assert.strictEqual(path.dirname(path.dirname(made)), directory)
          assert.isFalse(fs.existsSync(at))
          return server
        }))
      assert.strictEqual(fs.statSync(at).mode & 0o777, 0o640)
      assert.isTrue(yield* isConnectable(at))
    }))

  it.live("leaves nothing if listening fails", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      assert.strictEqual(yield* Effect.flip(SocketFile.make(at, 0o600, () => Effect.fail("no"))), "no")
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))
})
