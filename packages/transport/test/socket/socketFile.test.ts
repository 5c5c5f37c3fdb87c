import { SocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import { until } from "../support/process.ts"
import { text, tools } from "../support/server.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { openSession, ping, serveAt } from "../support/unixServer.ts"

const handlers = tools({ greet: Effect.succeed(text("hello")) })

const modeOf = (file: string): number => fs.statSync(file).mode & 0o777

/** Starts another process that listens, with a backlog of one connection. */
const listenElsewhere = Effect.fnUntraced(function*(at: string) {
  const options = JSON.stringify({ path: at, backlog: 1 })
  const program = `require("node:net").createServer().listen(${options}, () => console.log("listening"))`
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] })),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )
  let output = ""
  child.stdout.on("data", (bytes) => {
    output += String(bytes)
  })
  yield* until(() => output !== "")
  return child
})

/** Leaves the socket of a killed server at the path. */
const leaveStale = Effect.fnUntraced(function*(at: string) {
  const child = yield* listenElsewhere(at)
  child.kill("SIGKILL")
  yield* until(() => child.signalCode !== null)
  assert.isTrue(fs.lstatSync(at).isSocket())
})

/** Checks that a server at the path opens a session and responds. */
const responds = (at: string) =>
  Effect.scoped(Effect.gen(function*() {
    const client = yield* openSession({ path: at })
    client.send(ping(1))
    assert.deepStrictEqual(yield* client.awaitResponse(1), { jsonrpc: "2.0", id: 1, result: {} })
  }))

/** Returns the error message of a server that cannot listen at the path. */
const listenError = (at: string) =>
  Effect.map(Effect.flip(serveAt(at, handlers)), (error) => {
    assert.instanceOf(error, SocketServer.ListenError)
    assert.strictEqual(error.address, at)
    return error.message
  })

describe.concurrent("the file of a Unix socket", () => {
  it.live("has the mode 0o600 by default, or that of the options, whatever the umask", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const own = path.join(directory, "own")
      const shared = path.join(directory, "shared")
      yield* serveAt(own, handlers)
      yield* serveAt(shared, handlers, { socket: { mode: 0o666 } })
      assert.strictEqual(modeOf(own), 0o600)
      assert.strictEqual(modeOf(shared), 0o666)
      assert.deepStrictEqual(fs.readdirSync(directory).toSorted(), ["own", "shared"])
    }))

  it.live("rejects a user who may not write to it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      fs.chmodSync(directory, 0o755)
      // Root may connect to every socket, so the client becomes another user. Without root, the mode permits no user.
      const isRoot = process.getuid?.() === 0
      yield* serveAt(at, handlers, { socket: isRoot ? {} : { mode: 0o000 } })
      // After Node has started: another user may not be able to read Node's files.
      const dropPrivileges = "process.setgroups([]); process.setgid(65534); process.setuid(65534);"
      const connect = `require("node:net").connect(${JSON.stringify(at)})`
      const report = `.once("error", (error) => console.log(error.code)).once("connect", () => process.exit())`
      const output = execFileSync(process.execPath, ["-e", `${isRoot ? dropPrivileges : ""} ${connect}${report}`], {
        encoding: "utf8"
      })
      assert.strictEqual(output, "EACCES\n")
    }))

  it.live("is removed when the server stops, and nothing else is left", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const server = yield* serveAt(at, handlers)
      yield* responds(at)
      yield* server.stop
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))

  it.live("replaces the socket of a killed server", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* leaveStale(at)
      yield* serveAt(at, handlers)
      yield* responds(at)
      assert.strictEqual(modeOf(at), 0o600)
      assert.deepStrictEqual(fs.readdirSync(directory), ["s"])
    }))

  it.live("does not replace the socket of a running server", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* serveAt(at, handlers)
      assert.strictEqual(
        yield* listenError(at),
        `could not listen at ${at}: a server listens there already`
      )
      assert.deepStrictEqual(fs.readdirSync(directory), ["s"])
      yield* responds(at)
    }))

  it.live("does not replace the socket of a server whose backlog is full", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const child = yield* listenElsewhere(at)
      child.kill("SIGSTOP")
      const waiting = Array.from({ length: 5 }, () => Net.connect(at).on("error", () => {}))
      yield* until(() => waiting.some(({ destroyed }) => destroyed))
      assert.match(yield* listenError(at), /: a server listens there already$/)
      waiting.forEach((socket) => socket.destroy())
      assert.isTrue(fs.lstatSync(at).isSocket())
    }))

  it.live("does not replace a file that is not a socket", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const notes = path.join(directory, "notes")
      const inner = path.join(directory, "inner")
      const elsewhere = path.join(directory, "elsewhere")
      fs.writeFileSync(notes, "to keep")
      fs.mkdirSync(inner)
      fs.symlinkSync(path.join(directory, "nowhere"), elsewhere)
      for (const at of [notes, inner, elsewhere]) {
        assert.strictEqual(yield* listenError(at), `could not listen at ${at}: the file there is not a socket`)
      }
      assert.strictEqual(fs.readFileSync(notes, "utf8"), "to keep")
      assert.deepStrictEqual(fs.readdirSync(directory).toSorted(), ["elsewhere", "inner", "notes"])
    }))

  it.live("is not created for an invalid path, and the error names the reason", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const nowhere = path.join(directory, "nowhere", "s")
      assert.match(yield* listenError(nowhere), /^could not listen at .*: its directory does not exist$/)
      assert.match(yield* listenError(""), /: the path is empty$/)
      const long = path.join(directory, "x".repeat(200))
      assert.match(yield* listenError(long), /: the path of a socket may have at most 10[37] bytes$/)
      const deep = path.join(directory, "x".repeat(98 - directory.length - 1), "s")
      assert.match(yield* listenError(deep), /: the directory of a socket may have at most 9[37] bytes$/)
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))

  it.live("is created at a path of the maximum length", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const longest = process.platform === "linux" ? 107 : 103
      const at = path.join(directory, "x".repeat(longest - directory.length - 1))
      assert.strictEqual(Buffer.byteLength(at), longest)
      yield* serveAt(at, handlers)
      yield* responds(at)
    }))

  it.live("is not removed on shutdown if another server has replaced it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const first = yield* serveAt(at, handlers)
      fs.unlinkSync(at)
      yield* serveAt(at, handlers)
      yield* first.stop
      yield* responds(at)
    }))

  it.live("has one server when several start at once in place of a killed one", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* leaveStale(at)
      const stale = path.join(directory, "stale")
      fs.renameSync(at, stale)
      for (let round = 0; round < 10; round++) {
        fs.linkSync(stale, at)
        yield* Effect.scoped(Effect.gen(function*() {
          const started = yield* Effect.forEach(
            Array.from({ length: 8 }),
            () => Effect.exit(serveAt(at, handlers)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(started.filter(Exit.isSuccess).length, 1)
          for (const exit of started) {
            if (Exit.isFailure(exit)) {
              assert.match(String(Cause.squash(exit.cause)), /a server listens there already/)
            }
          }
          yield* responds(at)
        }))
        assert.deepStrictEqual(fs.readdirSync(directory), ["stale"])
      }
    }))
})
