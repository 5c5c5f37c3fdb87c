import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import * as SocketPathLock from "../../../src/internal/unix/SocketPathLock.ts"
import { fixture } from "../../fixtures/process.ts"
import { listen } from "../../support/deafSocket.ts"
import { temporaryDirectory } from "../../support/directory.ts"

const execFilePromise = promisify(execFile)

/** A socket whose process is no more. */
const die = (at: string) =>
  Effect.sync(() => {
    const program = `require("node:net").createServer().listen(${
      JSON.stringify(at)
    }, () => process.kill(process.pid, 9))`
    assert.strictEqual(spawnSync(process.execPath, ["-e", program]).signal, "SIGKILL")
  })

const numberOf = (file: string): number => fs.lstatSync(file).ino

const claimTo = (file: string): string =>
  path.join(path.dirname(file), `.${(numberOf(file) % 2 ** 32).toString(16).padStart(8, "0")}`)

const take = (made: string, file: string) => Effect.promise(() => SocketPathLock.take(made, file))

const names = Effect.map(temporaryDirectory, (directory) => ({
  directory,
  name: path.join(directory, "s"),
  made: path.join(directory, "made")
}))

describe("the name of a socket", () => {
  it.live("is a server's that finds it free", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      yield* listen(made)
      assert.strictEqual(yield* take(made, name), "Taken")
      assert.strictEqual(numberOf(name), numberOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is a server's that finds a dead one there", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      yield* die(name)
      yield* listen(made)
      assert.strictEqual(yield* take(made, name), "Taken")
      assert.strictEqual(numberOf(name), numberOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("stays a server's that lives", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      yield* listen(name)
      yield* listen(made)
      const before = numberOf(name)
      assert.strictEqual(yield* take(made, name), "Server")
      assert.strictEqual(numberOf(name), before)
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("stays a dead server's while another that lives has claimed it", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      yield* die(name)
      yield* listen(made)
      const claim = claimTo(name)
      yield* listen(claim)
      const before = numberOf(name)
      assert.strictEqual(yield* take(made, name), "Busy")
      assert.strictEqual(numberOf(name), before)
      assert.deepStrictEqual(fs.readdirSync(directory), [path.basename(claim), "made", "s"])
    }))

  it.live("is the next server's where those that had claimed it have died, too", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      for (let dead = 0, next = name; dead < 8; dead++, next = claimTo(next)) yield* die(next)
      assert.strictEqual(fs.readdirSync(directory).length, 8)
      yield* listen(made)
      assert.strictEqual(yield* take(made, name), "Taken")
      assert.strictEqual(numberOf(name), numberOf(made))
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
    }))

  it.live("is not taken from a file that is no socket, nor is a claim to it", () =>
    Effect.gen(function*() {
      const { made, name } = yield* names
      yield* listen(made)
      fs.writeFileSync(name, "to keep")
      assert.strictEqual(yield* take(made, name), "NoSocket")
      assert.strictEqual(fs.readFileSync(name, "utf8"), "to keep")
      fs.unlinkSync(name)
      yield* die(name)
      const claim = claimTo(name)
      fs.writeFileSync(claim, "to keep")
      assert.strictEqual(yield* take(made, name), "Busy")
      assert.strictEqual(fs.readFileSync(claim, "utf8"), "to keep")
    }))

  it.live("is taken away from the file that has it, and from no other", () =>
    Effect.gen(function*() {
      const { directory, made, name } = yield* names
      yield* listen(made)
      yield* take(made, name)
      const own = fs.lstatSync(made, { bigint: true })
      SocketPathLock.remove(name, { ...own, birthtimeNs: own.birthtimeNs - 1n })
      assert.deepStrictEqual(fs.readdirSync(directory), ["made", "s"])
      SocketPathLock.remove(name, own)
      assert.deepStrictEqual(fs.readdirSync(directory), ["made"])
      SocketPathLock.remove(name, own)
    }))

  it.live("is one server's at a time, whatever others begin and die beside it", () =>
    Effect.gen(function*() {
      const { directory, name } = yield* names
      const rivals = Array.from({ length: 4 }, () =>
        Effect.tryPromise(() => execFilePromise(process.execPath, [fixture("socketRival.ts"), directory, "300"])))
      const tallies = yield* Effect.all(rivals, { concurrency: "unbounded" })
      for (const { stdout } of tallies) {
        assert.deepInclude(JSON.parse(stdout), { notAlone: 0, nameless: 0, NoSocket: 0 })
        assert.notInclude(stdout, `"Taken":0`)
      }
      assert.deepStrictEqual(fs.readdirSync(directory), [path.basename(name)])
    }))
})
