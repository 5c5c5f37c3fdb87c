import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import * as StaleSocketTakeover from "../../../src/internal/socket/StaleSocketTakeover.ts"
import { listen } from "../../support/listeningSocket.ts"
import { fixture } from "../../support/process.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"

const execFilePromise = promisify(execFile)

/** Leaves a socket at the path whose process is dead. */
const leaveDeadSocket = (at: string) =>
  Effect.sync(() => {
    const program = `require("node:net").createServer().listen(${
      JSON.stringify(at)
    }, () => process.kill(process.pid, 9))`
    assert.strictEqual(spawnSync(process.execPath, ["-e", program]).signal, "SIGKILL")
  })

const inodeOf = (file: string): number => fs.lstatSync(file).ino

const claimTo = (file: string): string =>
  path.join(path.dirname(file), `.${(inodeOf(file) % 2 ** 32).toString(16).padStart(8, "0")}`)

const take = (made: string, file: string) => Effect.promise(() => StaleSocketTakeover.take(made, file))

const paths = Effect.map(temporaryDirectory, (directory) => ({
  directory,
  file: path.join(directory, "s"),
  made: path.join(directory, "made")
}))

describe("the path of a socket", () => {
  it.live("is taken by a server if it is free", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      yield* listen(made)
      assert.strictEqual(yield* take(made, file), "Taken")
      assert.strictEqual(inodeOf(file), inodeOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is taken from a dead server", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      yield* leaveDeadSocket(file)
      yield* listen(made)
      assert.strictEqual(yield* take(made, file), "Taken")
      assert.strictEqual(inodeOf(file), inodeOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is not taken from a running server", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      yield* listen(file)
      yield* listen(made)
      const before = inodeOf(file)
      assert.strictEqual(yield* take(made, file), "Server")
      assert.strictEqual(inodeOf(file), before)
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is not taken from a dead server while another running server has the claim", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      yield* leaveDeadSocket(file)
      yield* listen(made)
      const claim = claimTo(file)
      yield* listen(claim)
      const before = inodeOf(file)
      assert.strictEqual(yield* take(made, file), "Busy")
      assert.strictEqual(inodeOf(file), before)
      assert.deepStrictEqual(fs.readdirSync(directory), [path.basename(claim), "made", "s"])
    }))

  it.live("is taken from a dead server whose claimants are dead, too", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      for (let dead = 0, next = file; dead < 8; dead++, next = claimTo(next)) yield* leaveDeadSocket(next)
      assert.strictEqual(fs.readdirSync(directory).length, 8)
      yield* listen(made)
      assert.strictEqual(yield* take(made, file), "Taken")
      assert.strictEqual(inodeOf(file), inodeOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is not taken from a file that is not a socket, and neither is a claim", () =>
    Effect.gen(function*() {
      const { file, made } = yield* paths
      yield* listen(made)
      fs.writeFileSync(file, "to keep")
      assert.strictEqual(yield* take(made, file), "NoSocket")
      assert.strictEqual(fs.readFileSync(file, "utf8"), "to keep")
      fs.unlinkSync(file)
      yield* leaveDeadSocket(file)
      const claim = claimTo(file)
      fs.writeFileSync(claim, "to keep")
      assert.strictEqual(yield* take(made, file), "Busy")
      assert.strictEqual(fs.readFileSync(claim, "utf8"), "to keep")
    }))

  it.live("is removed only if it still belongs to the same file", () =>
    Effect.gen(function*() {
      const { directory, file, made } = yield* paths
      yield* listen(made)
      yield* take(made, file)
      const own = fs.lstatSync(made, { bigint: true })
      StaleSocketTakeover.remove(file, { ...own, birthtimeNs: own.birthtimeNs - 1n })
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
      StaleSocketTakeover.remove(file, own)
      assert.deepStrictEqual(fs.readdirSync(directory), ["made"])
      StaleSocketTakeover.remove(file, own)
    }))

  it.live("belongs to one server at a time while several start and stop", () =>
    Effect.gen(function*() {
      const { directory, file } = yield* paths
      const competitors = Array.from({ length: 4 }, () =>
        Effect.tryPromise(() =>
          execFilePromise(process.execPath, [fixture("competingServer.ts"), directory, "300"])
        ))
      const tallies = yield* Effect.all(competitors, { concurrency: "unbounded" })
      for (const { stdout } of tallies) {
        assert.deepInclude(JSON.parse(stdout), { shared: 0, lost: 0, NoSocket: 0 })
        assert.notInclude(stdout, `"Taken":0`)
      }
      assert.deepStrictEqual(fs.readdirSync(directory), [path.basename(file)])
    }))
})
