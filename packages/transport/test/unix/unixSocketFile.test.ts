import { UnixSocketServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import { until } from "../fixtures/process.ts"
import { temporaryDirectory } from "../support/directory.ts"
import { text, tools } from "../support/server.ts"
import { join, ping, serveAt } from "../support/unixServer.ts"

const handlers = tools({ greet: Effect.succeed(text("hello")) })

const modeOf = (file: string): number => fs.statSync(file).mode & 0o777

/** Another process that listens, with room for one client that waits. */
const listenElsewhere = Effect.fnUntraced(function*(at: string) {
  const options = JSON.stringify({ path: at, backlog: 1 })
  const program = `require("node:net").createServer().listen(${options}, () => console.log("listening"))`
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] })),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )
  let said = ""
  child.stdout.on("data", (bytes) => {
    said += String(bytes)
  })
  yield* until(() => said !== "")
  return child
})

/** What is left of a server that was killed. */
const leaveStale = Effect.fnUntraced(function*(at: string) {
  const child = yield* listenElsewhere(at)
  child.kill("SIGKILL")
  yield* until(() => child.signalCode !== null)
  assert.isTrue(fs.lstatSync(at).isSocket())
})

/** Does whoever listens there answer? */
const answers = (at: string) =>
  Effect.scoped(Effect.gen(function*() {
    const client = yield* join({ path: at })
    client.say(ping(1))
    assert.deepStrictEqual(yield* client.answer(1), { jsonrpc: "2.0", id: 1, result: {} })
  }))

const refusedAt = (at: string) =>
  Effect.map(Effect.flip(serveAt(at, handlers)), (error) => {
    assert.instanceOf(error, UnixSocketServer.ListenFailed)
    assert.strictEqual(error.path, at)
    return error.message
  })

describe.concurrent("the file of a Unix socket", () => {
  it.live("is for the user of the process, unless told otherwise, whatever the umask", () =>
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

  it.live("keeps out whoever may not write to it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      fs.chmodSync(directory, 0o755)
      // The administrator may connect to everything, and anybody to what is their own: who asks is somebody else, or nobody may.
      const isRoot = process.getuid?.() === 0
      yield* serveAt(at, handlers, { socket: isRoot ? {} : { mode: 0o000 } })
      // It becomes somebody else only once it runs: Node itself may be where nobody else may look.
      const leave = "process.setgroups([]); process.setgid(65534); process.setuid(65534);"
      const connect = `require("node:net").connect(${JSON.stringify(at)})`
      const report = `.once("error", (error) => console.log(error.code)).once("connect", () => process.exit())`
      const said = execFileSync(process.execPath, ["-e", `${isRoot ? leave : ""} ${connect}${report}`], {
        encoding: "utf8"
      })
      assert.strictEqual(said, "EACCES\n")
    }))

  it.live("goes when the server does, and nothing else is left", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const server = yield* serveAt(at, handlers)
      yield* answers(at)
      yield* server.stop
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))

  it.live("takes the place of one that a killed server has left", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* leaveStale(at)
      yield* serveAt(at, handlers)
      yield* answers(at)
      assert.strictEqual(modeOf(at), 0o600)
      assert.deepStrictEqual(fs.readdirSync(directory), ["s"])
    }))

  it.live("does not take the place of a server's that is alive", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* serveAt(at, handlers)
      assert.strictEqual(
        yield* refusedAt(at),
        `could not listen at ${at}: a server listens there already`
      )
      assert.deepStrictEqual(fs.readdirSync(directory), ["s"])
      yield* answers(at)
    }))

  it.live("does not take the place of a server's that is too busy to let anybody in", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const child = yield* listenElsewhere(at)
      child.kill("SIGSTOP")
      const waiting = Array.from({ length: 5 }, () => Net.connect(at).on("error", () => {}))
      yield* until(() => waiting.some(({ destroyed }) => destroyed))
      assert.match(yield* refusedAt(at), /: a server listens there already$/)
      waiting.forEach((socket) => socket.destroy())
      assert.isTrue(fs.lstatSync(at).isSocket())
    }))

  it.live("does not take the place of anything that is no socket", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const notes = path.join(directory, "notes")
      const inner = path.join(directory, "inner")
      const elsewhere = path.join(directory, "elsewhere")
      fs.writeFileSync(notes, "to keep")
      fs.mkdirSync(inner)
      fs.symlinkSync(path.join(directory, "nowhere"), elsewhere)
      for (const at of [notes, inner, elsewhere]) {
        assert.strictEqual(yield* refusedAt(at), `could not listen at ${at}: the file there is not a socket`)
      }
      assert.strictEqual(fs.readFileSync(notes, "utf8"), "to keep")
      assert.deepStrictEqual(fs.readdirSync(directory).toSorted(), ["elsewhere", "inner", "notes"])
    }))

  it.live("says what is wrong where it cannot be made", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const nowhere = path.join(directory, "nowhere", "s")
      assert.match(yield* refusedAt(nowhere), /^could not listen at .*: its directory does not exist$/)
      assert.match(yield* refusedAt(""), /: the path is empty$/)
      const long = path.join(directory, "x".repeat(200))
      assert.match(yield* refusedAt(long), /: the path of a socket may have at most 10[37] bytes$/)
      const deep = path.join(directory, "x".repeat(98 - directory.length - 1), "s")
      assert.match(yield* refusedAt(deep), /: the directory of a socket may have at most 9[37] bytes$/)
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))

  it.live("is there for a path that is as long as it may be", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const longest = process.platform === "linux" ? 107 : 103
      const at = path.join(directory, "x".repeat(longest - directory.length - 1))
      assert.strictEqual(Buffer.byteLength(at), longest)
      yield* serveAt(at, handlers)
      yield* answers(at)
    }))

  it.live("is left alone at the end where another server has taken its place", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      const first = yield* serveAt(at, handlers)
      fs.unlinkSync(at)
      yield* serveAt(at, handlers)
      yield* first.stop
      yield* answers(at)
    }))

  it.live("has one server, however many begin at once where a killed one has left its own", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const at = path.join(directory, "s")
      yield* leaveStale(at)
      const stale = path.join(directory, "stale")
      fs.renameSync(at, stale)
      for (let round = 0; round < 10; round++) {
        fs.linkSync(stale, at)
        yield* Effect.scoped(Effect.gen(function*() {
          const begun = yield* Effect.forEach(
            Array.from({ length: 8 }),
            () => Effect.exit(serveAt(at, handlers)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(begun.filter(Exit.isSuccess).length, 1)
          for (const exit of begun) {
            if (Exit.isFailure(exit)) {
              assert.match(String(Cause.squash(exit.cause)), /a server listens there already/)
            }
          }
          yield* answers(at)
        }))
        assert.deepStrictEqual(fs.readdirSync(directory), ["stale"])
      }
    }))
})
