/** The console in a pseudo-terminal, at a server that people sign in to. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import * as identityServer from "../../auth/test/support/identityServer.ts"
import * as person from "../../auth/test/support/person.ts"
import * as ProtectedMcp from "../../client/test/support/protectedMcp.ts"
import * as Console from "./fixtures/console.ts"
import * as Terminal from "./fixtures/terminal.ts"

const { ctrlC, enter } = Terminal.keys

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "console-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

/** Waits for the prompt, and enters a command. */
const enters = (terminal: Terminal.Terminal, command: string) => terminal.answers("? mcp › ", command + enter)

/** Returns the last URL of a sign-in that a terminal has shown. */
const urlIn = (terminal: Terminal.Terminal): string =>
  Array.from(terminal.written().matchAll(/with your browser: (\S+)\r/g), ([, url = ""]) => url).at(-1) ?? ""

describe("the console at a server that people sign in to", () => {
  it.live(
    "shows the URL, waits for the person, signs out and in again, and keeps the tokens for scripts",
    () =>
      Effect.gen(function*() {
        const identity = yield* identityServer.start()
        const server = yield* ProtectedMcp.start(identity)
        const tokens = path.join(yield* folder, "tokens")
        const words = ["--revision", "2025-11-25", "--tokens", tokens]

        const script = yield* Console.run(["list", ...words], [server.url])
        assert.strictEqual(script.exitCode, 1)
        assert.include(script.stderr, "needs a person to sign in")
        assert.include(script.stderr, "--sign-in")

        const terminal = yield* Terminal.start(process.execPath, Console.program, ...words, "--", server.url)
        yield* terminal.shows(`* sign in to ${server.url} with your browser: `)
        yield* enters(terminal, "status")
        yield* terminal.shows("it requires that a person authorizes this client since ")
        yield* terminal.shows(`visit ${identity.issuer}/auth?`)
        yield* terminal.shows("signing in")
        const first = urlIn(terminal)
        yield* Effect.promise(() => person.visit(first))
        yield* terminal.shows("* ready: ")
        yield* enters(terminal, "status")
        yield* terminal.shows(`signed in at ${identity.issuer}, with notes:read`)
        yield* enters(terminal, "call read")
        yield* terminal.shows("(no content)")

        yield* enters(terminal, "logout")
        yield* terminal.shows("You are signed out.")
        assert.isAbove(identity.to("/token/revocation").length, 0)
        yield* enters(terminal, "status")
        yield* terminal.shows("signed out")

        // A browser elsewhere cannot open the redirect, and the person pastes its address.
        yield* enters(terminal, "login notes:write")
        yield* terminal.shows("with your browser: ")
        yield* terminal.shows("login <the address")
        const second = urlIn(terminal)
        assert.notStrictEqual(second, first)
        assert.include(new URL(second).searchParams.get("scope"), "notes:write")
        const stopAt = new URL(second).searchParams.get("redirect_uri") ?? ""
        const { url: redirect } = yield* Effect.promise(() => person.visit(second, { stopAt }))
        yield* enters(terminal, `login ${redirect.href}`)
        yield* terminal.shows("* you are signed in")
        yield* terminal.shows("? mcp › ")
        yield* terminal.types(ctrlC)
        assert.strictEqual((yield* terminal.exited).exitCode, 0)

        const listed = yield* Console.run(["tools", ...words], [server.url])
        assert.strictEqual(listed.exitCode, 0, listed.stderr)
        assert.include(listed.stdout, "read()")
        assert.notInclude(terminal.written() + listed.stdout + listed.stderr, "Bearer")
      }).pipe(Effect.provide(Console.runs)),
    timeout
  )

  it.live("rejects a login at a program", () =>
    Effect.gen(function*() {
      const terminal = yield* Terminal.start(process.execPath, Console.program, "--", ...Console.calculator)
      yield* terminal.shows("* ready: ")
      yield* enters(terminal, "login")
      yield* terminal.shows("error: the server has no URL to sign in to")
      yield* terminal.types(ctrlC)
      yield* terminal.exited
    }), timeout)
})
