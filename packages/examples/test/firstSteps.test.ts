/** The output of the programs of the first steps is the one that their pages show. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { promisify } from "node:util"
import * as Child from "./fixtures/child.ts"

const run = (...args: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.promise(async () =>
    (await promisify(execFile)(process.execPath, args, { cwd: Child.root, env: Child.environment })).stdout
  )

/** Returns a text without its numbers, which depend on the day. */
const withoutNumbers = (text: string): string => text.trim().replaceAll(/\d+/g, "N")

/** Returns the texts that a page shows. */
const shownBy = (page: string): ReadonlyArray<string> =>
  Array.from(
    fs.readFileSync(Child.file(`../../../../docs/start/${page}`), "utf8").matchAll(/^```text\n(.*?)^```$/gms),
    ([, text = ""]) => withoutNumbers(text)
  )

it.effect("the first client prints what its page shows", () =>
  Effect.gen(function*() {
    const printed = yield* run("packages/examples/src/datesClient.ts", "packages/examples/src/datesServer.ts")
    assert.include(shownBy("first-client.md"), withoutNumbers(printed))
  }))
