/** A person who signs in to the protected notes by a browser, by pasting, and by a code (`signIn.ts`). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import { Browser, type Decisions } from "./fixtures/person.ts"
import * as Protection from "./fixtures/protection.ts"

const Own = Schema.fromJsonString(Schema.Struct({ uri: Schema.String, notes: Schema.Array(Schema.String) }))

const signIn = await joinedProgram(Child.file("../../src/signIn.ts"))

/** Starts the program with these options and variables. */
const start = (url: string, options: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) =>
  Child.program(process.execPath, [signIn, url, ...options], {
    ...Child.environment,
    ...variables
  })

/** Waits for the end of the program, and returns the notes that it prints. */
const printed = Effect.fnUntraced(function*({ exited }: Child.Program) {
  const { exitCode, stderr, stdout } = yield* exited
  assert.strictEqual(exitCode, 0, stdout + stderr)
  return Schema.decodeUnknownSync(Own)(stdout.trim().split("\n").at(-1))
})

/** Returns a text that the program prints. */
const shown = Effect.fnUntraced(function*({ stdout }: Child.Program, pattern: RegExp) {
  yield* Child.until(() => pattern.test(stdout()))
  return pattern.exec(stdout())?.[1] ?? ""
})

const visit = (url: string, decisions?: Decisions) => Effect.promise(() => new Browser().visit(url, decisions))

const isCallback = ({ pathname }: URL): boolean => pathname === "/callback"

/** Signs a person in by pasting, and returns the notes. */
const paste = Effect.fnUntraced(function*(url: string, TOKENS: string, login = "ada", variables = {}) {
  const program = yield* start(url, ["--paste"], { TOKENS, ...variables })
  const address = yield* shown(program, /^(http\S+\/auth\?\S+)$/m)
  const redirect = yield* visit(address, { login, isUnreachable: isCallback })
  program.write("http://127.0.0.1/callback?code=1&state=other\n")
  program.write(`${redirect.url.href}\n`)
  const own = yield* printed(program)
  assert.include(program.stdout(), "This is not the address of this sign-in.")
  return own
})

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

const key = "0123456789abcdef".repeat(4)

describe("signIn.ts", () => {
  it.live.skipIf(process.platform !== "linux")(
    "opens the browser, and is signed in when it runs again",
    () =>
      Effect.gen(function*() {
        const issuer = yield* Protection.issuer()
        const url = yield* Protection.notes(issuer)
        const TOKENS = yield* Protection.folder
        const PATH = `${yield* Protection.systemBrowser("ada")}:${Child.environment.PATH}`
        const first = yield* printed(yield* start(url, [], { PATH, TOKENS }))
        assert.deepStrictEqual(first.notes, [])
        assert.deepStrictEqual(issuer.grants(), ["authorization_code 200"])
        // The second run has no browser that it could open.
        const second = yield* printed(yield* start(url, [], { TOKENS }))
        assert.deepStrictEqual(second, first)
        assert.deepStrictEqual(issuer.grants(), ["authorization_code 200"])
      }),
    timeout
  )

  it.live(
    "prints the address with --paste, and reads the redirect; each person has notes of their own",
    () =>
      Effect.gen(function*() {
        const url = yield* Protection.notes(yield* Protection.issuer())
        const TOKENS = yield* Protection.folder
        const ada = yield* paste(url, TOKENS, "ada", { TOKEN_KEY: key })
        const bob = yield* paste(url, yield* Protection.folder, "bob")
        assert.notStrictEqual(ada.uri, bob.uri)
        const files = fs.readdirSync(TOKENS, { recursive: true, encoding: "utf8" })
          .map((file) => path.join(TOKENS, file)).filter((file) => fs.statSync(file).isFile())
        assert.isNotEmpty(files)
        for (const file of files) assert.notInclude(fs.readFileSync(file, "utf8"), "accessToken")
        // Another key cannot read the tokens, and changes nothing.
        const other = yield* start(url, ["--paste"], { TOKENS, TOKEN_KEY: "f".repeat(64) })
        const { exitCode, stdout } = yield* other.exited
        assert.strictEqual(exitCode, 1)
        assert.notInclude(stdout, "/auth?")
        assert.deepStrictEqual(yield* printed(yield* start(url, ["--paste"], { TOKENS, TOKEN_KEY: key })), ada)
      }),
    timeout
  )

  it.live("prints a code with --device, and waits until the person has entered it", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer()
      const url = yield* Protection.notes(issuer)
      const program = yield* start(url, ["--device"], { TOKENS: yield* Protection.folder })
      const address = yield* shown(program, /^Or open (\S+)$/m)
      const page = yield* visit(address)
      assert.strictEqual(page.status, 200)
      assert.deepStrictEqual((yield* printed(program)).notes, [])
      assert.strictEqual(issuer.grants().at(-1), "device_code 200")
    }), timeout)

  it.live("three runs with an expired token refresh it once, and open no page", () =>
    Effect.gen(function*() {
      const issuer = yield* Protection.issuer("--seconds", "30")
      const url = yield* Protection.notes(issuer)
      const TOKENS = yield* Protection.folder
      const own = yield* paste(url, TOKENS)
      // The client renews a token of 30 seconds when a quarter of this time is left.
      yield* Effect.sleep("24 seconds")
      const runs = yield* Effect.all(Array.from({ length: 3 }, () => start(url, ["--paste"], { TOKENS })))
      for (const run of runs) {
        assert.deepStrictEqual(yield* printed(run), own)
        assert.notInclude(run.stdout(), "/auth?")
      }
      assert.deepStrictEqual(issuer.grants(), ["authorization_code 200", "refresh_token 200"])
    }), timeout)

  it.live("a refusal ends it with the words of the authorization server", () =>
    Effect.gen(function*() {
      const url = yield* Protection.notes(yield* Protection.issuer())
      const program = yield* start(url, ["--paste"], { TOKENS: yield* Protection.folder })
      const address = new URL(yield* shown(program, /^(http\S+\/auth\?\S+)$/m))
      const redirect = new URL(address.searchParams.get("redirect_uri") ?? "")
      redirect.searchParams.set("state", address.searchParams.get("state") ?? "")
      redirect.searchParams.set("iss", address.origin)
      redirect.searchParams.set("error", "access_denied")
      program.write(`${redirect.href}\n`)
      const { exitCode, stderr, stdout } = yield* program.exited
      assert.strictEqual(exitCode, 1)
      assert.include(stdout + stderr, "denied the authorization: \"access_denied\"")
    }), timeout)
})
