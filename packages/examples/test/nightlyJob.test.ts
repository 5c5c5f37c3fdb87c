/** A job that signs in by its private key (`nightlyJob.ts`). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import * as Protection from "./fixtures/protection.ts"

const nightlyJob = await joinedProgram(Child.file("../../src/nightlyJob.ts"))

const Own = Schema.fromJsonString(Schema.Struct({ uri: Schema.String, notes: Schema.Array(Schema.String) }))

/** Returns the notes of each run that a job has printed. */
const runsOf = ({ stdout }: Child.Program) =>
  stdout().trim().split("\n").map((line) => Schema.decodeUnknownSync(Own)(line))

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

describe("nightlyJob.ts", () => {
  it.live(
    "[AUX-01] signs in by its private key, and requests new tokens when they expire",
    () =>
      Effect.gen(function*() {
        const file = path.join(yield* Protection.folder, "nightly.pem")
        const issuer = yield* Protection.issuer("--seconds", "4", "--job-key", file)
        const url = yield* Protection.notes(issuer)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
        const args = [nightlyJob, url, "--issuer", issuer.url, "--key", file, "--every", "1"]
        const job = yield* Child.program(process.execPath, args)
        yield* Child.until(() => issuer.grants().length >= 3)
        const count = runsOf(job).length
        yield* Child.until(() => runsOf(job).length > count)
        assert.deepStrictEqual(new Set(issuer.grants()), new Set(["client_credentials 200"]))
        const runs = runsOf(job)
        assert.deepStrictEqual(runs.map(({ notes }) => notes.length), runs.map((_, index) => index + 1))
        assert.include(decodeURIComponent(runs[0]?.uri ?? ""), "nightly")
        // The client does not request a token for each call.
        assert.isAtMost(issuer.grants().length, runs.length)
      }),
    timeout
  )

  it.live(
    "[AUX-01] ends with the error of the authorization server if its key is another one",
    () =>
      Effect.gen(function*() {
        const folder = yield* Protection.folder
        const issuer = yield* Protection.issuer("--job-key", path.join(folder, "nightly.pem"))
        yield* Protection.issuer("--job-key", path.join(folder, "other.pem"))
        const url = yield* Protection.notes(issuer)
        const key = path.join(folder, "other.pem")
        const args = [nightlyJob, url, "--issuer", issuer.url, "--key", key]
        const { exitCode, stderr, stdout } = yield* (yield* Child.program(process.execPath, args)).exited
        assert.strictEqual(exitCode, 1)
        assert.include(stdout + stderr, "invalid_client")
        assert.deepStrictEqual(issuer.grants(), ["client_credentials 401"])
      }),
    timeout
  )
})
