import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Program from "../src/suite/program.ts"

const isReachable = (address: string) => Effect.promise(() => fetch(address).then(({ ok }) => ok, () => false))

const serving = `
  const server = require("node:http").createServer((_, response) => response.end("here"))
  server.listen(0, "127.0.0.1", () => console.log("ready\\nhttp://127.0.0.1:" + server.address().port + "/"))
`

describe("run", () => {
  it.live("reports the exit and the output of a program", () =>
    Effect.gen(function*() {
      const run = yield* Program.run(["-e", "console.log(process.env.WHO); console.error('bad'); process.exit(3)"], {
        WHO: "Ada"
      })
      assert.strictEqual(run.exitCode, 3)
      assert.include(run.output, "Ada\n")
      assert.include(run.output, "bad\n")
    }))
})

describe("serve", () => {
  it.live("returns the URL that a server prints, and stops the server with the scope", () =>
    Effect.gen(function*() {
      const address = yield* Effect.scoped(Effect.gen(function*() {
        const address = yield* Program.serve(["-e", serving])
        assert.isTrue(yield* isReachable(address))
        return address
      }))
      assert.isFalse(yield* isReachable(address))
    }))

  it.live("kills a program that does not stop", () =>
    Effect.gen(function*() {
      const address = yield* Effect.scoped(
        Program.serve(["-e", `process.on("SIGTERM", () => {});${serving}`], { timeout: "50 millis" })
      )
      assert.isFalse(yield* isReachable(address))
    }))

  it.live("fails with the output of a program that prints no URL", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(Effect.scoped(Program.serve(["-e", "throw new Error('no port left')"])))
      assert.include(message, "ended with 1")
      assert.include(message, "no port left")
    }))
})
