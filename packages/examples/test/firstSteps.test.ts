/** The output of the programs of the first steps is the one that their pages show. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as Child from "./fixtures/child.ts"

/** Runs Node, and returns what the program prints to both outputs, whether it succeeds or not. */
const run = (...args: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const options = { cwd: Child.root, env: Child.environment }
    execFile(process.execPath, args, options, (_, out, error) => resume(Effect.succeed(`${out}${error}`)))
  })

/** Returns a text without its numbers, which depend on the day. */
const withoutNumbers = (text: string): string => text.trim().replaceAll(/\d+/g, "N")

/** Returns the texts that a page shows. */
const shownBy = (page: string): ReadonlyArray<string> =>
  Array.from(
    fs.readFileSync(Child.file(`../../../../docs/start/${page}`), "utf8").matchAll(/^```text\n(.*?)^```$/gms),
    ([, text = ""]) => withoutNumbers(text)
  )

const server = "packages/examples/src/datesServer.ts"

describe("the first server, called in the terminal", () => {
  it.effect.each(["2100-01-01", "2000-01-01", "tomorrow"])(
    "prints what its page shows for %s",
    (date) =>
      Effect.gen(function*() {
        const printed = yield* run(
          "packages/cli/src/bin.ts",
          "call",
          "days_until",
          `date=${date}`,
          "--",
          "node",
          server
        )
        assert.include(shownBy("first-server.md"), withoutNumbers(printed))
      })
  )
})

it.effect("the first client prints what its page shows", () =>
  Effect.gen(function*() {
    const printed = yield* run("packages/examples/src/datesClient.ts", server)
    assert.include(shownBy("first-client.md"), withoutNumbers(printed))
  }))
