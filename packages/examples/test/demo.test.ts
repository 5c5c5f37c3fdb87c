import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"
import * as Child from "./fixtures/child.ts"

const transcript = Child.file("../../src/transcript.ts")

const demo = (env: NodeJS.ProcessEnv) =>
  Effect.flatMap(
    Child.program(process.execPath, [Child.file("../../src/demo.ts")], { ...Child.environment, ...env }),
    ({ exited }) => exited
  )

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Prints a heading in another process, and returns its output. */
const heading = (env: NodeJS.ProcessEnv) =>
  Child.program(
    process.execPath,
    ["--input-type=module", "-e", `import { heading } from ${JSON.stringify(transcript)}; heading("x")`],
    { ...Child.environment, ...env }
  ).pipe(
    Effect.flatMap(({ exited }) => exited),
    Effect.map(({ stdout }) => stdout)
  )

describe("the demonstration", () => {
  it.live(
    "passes its checks over all transports and at both eras, leaves nothing open, and prints colours only if enabled",
    () =>
      Effect.gen(function*() {
        const coloured = yield* demo({ FORCE_COLOR: "1" })
        const plain = { ...coloured, stdout: stripVTControlCharacters(coloured.stdout) }
        assert.strictEqual(plain.exitCode, 0, plain.stdout + plain.stderr)
        assert.strictEqual(plain.stderr, "")
        assert.strictEqual(count(plain.stdout, /✓ (?!fibers).*\b42\b/g), 7)
        assert.strictEqual(count(plain.stdout, /✓ fibers alive 0,/g), 10)
        assert.strictEqual(count(plain.stdout, /✓ child processes alive 0$/gm), 10)
        assert.strictEqual(count(plain.stdout, /✓ sockets open 0$/gm), 10)
        assert.strictEqual(count(plain.stdout, /^ {2}child processes alive 1, sockets open 0$/gm), 2)
        assert.strictEqual(count(plain.stdout, /^ {2}child processes alive 1, sockets open [1-9]$/gm), 4)
        assert.strictEqual(count(plain.stdout, /✓ requests waiting 0, handlers running 0$/gm), 10)
        assert.strictEqual(count(plain.stdout, /→ notifications\/cancelled/g), 14)
        assert.strictEqual(count(plain.stdout, /✓ both sides agree on 2026-07-28$/gm), 2)
        assert.strictEqual(count(plain.stdout, /✓ both sides agree on 2025-11-25$/gm), 1)
        assert.strictEqual(count(plain.stdout, /✓ booked a journey to Oslo$/gm), 3)
        assert.strictEqual(count(plain.stdout, /✗/g), 0)
        assert.notStrictEqual(coloured.stdout, plain.stdout)
        assert.strictEqual(yield* heading({ FORCE_COLOR: "1" }), "\n\u001b[1m\u001b[7m x \u001b[27m\u001b[22m\n")
        assert.strictEqual(yield* heading({ NO_COLOR: "1" }), "\n x \n")
      }).pipe(Effect.timeout("170 seconds")),
    180_000
  )
})
