import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Program from "../src/suite/program.ts"

const isReachable = (address: string) => Effect.promise(() => fetch(address).then(({ ok }) => ok, () => false))

const serving = `
  const server = require("node:http").createServer((_, response) => response.end("here"))
  server.listen(0, "127.0.0.1", () => console.log("ready\\nhttp://127.0.0.1:" + server.address().port + "/"))
`

describe("run", () => {
  it.live("says how a program ended, and all that it wrote", () =>
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
  it.live("gives the address that the program prints, and ends it with the scope", () =>
    Effect.gen(function*() {
      const address = yield* Effect.scoped(Effect.gen(function*() {
        const address = yield* Program.serve(["-e", serving])
        assert.isTrue(yield* isReachable(address))
        return address
      }))
      assert.isFalse(yield* isReachable(address))
    }))

  it.live("ends a program that does not want to", () =>
    Effect.gen(function*() {
      const address = yield* Effect.scoped(
        Program.serve(["-e", `process.on("SIGTERM", () => {});${serving}`], { patience: "50 millis" })
      )
      assert.isFalse(yield* isReachable(address))
    }))

  it.live("fails with what a program says that serves nothing", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(Effect.scoped(Program.serve(["-e", "throw new Error('no port left')"])))
      assert.include(message, "ended with 1")
      assert.include(message, "no port left")
    }))
})
