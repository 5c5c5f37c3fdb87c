import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "./fixtures/child.ts"

describe("host.ts", () => {
  it.live("uses every feature of the notebook, answers its requests, and leaves nothing open", () =>
    Effect.gen(function*() {
      const program = yield* Child.program(process.execPath, [Child.file("../../src/host.ts")])
      const { exitCode, stderr, stdout } = yield* program.exited
      assert.strictEqual(exitCode, 0, stdout + stderr)
      assert.strictEqual(stderr, "")
      assert.notInclude(stdout, "✗")
      assert.include(stdout, "✓ The note “plan” is published, with 16 letters.")
      assert.include(stdout, "✓ requests waiting 0, handlers running 0")
      assert.match(stdout, /✓ fibers alive 0,/)
      assert.match(stdout, /✓ child processes alive 0$/m)
      assert.strictEqual(stdout.match(/✓/g)?.length, 15)
    }))
})
