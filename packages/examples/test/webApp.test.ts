/** Users of a web application, each with an account of their own at the protected notes (`webApp.ts`). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort } from "../../../scripts/freePort.ts"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import { Browser, type Decisions } from "./fixtures/person.ts"
import * as Protection from "./fixtures/protection.ts"

const webApp = await joinedProgram(Child.file("../../src/webApp.ts"))

/** Starts the application. Returns its address, and the authorization server. */
const start = Effect.fnUntraced(function*(...options: ReadonlyArray<string>) {
  const issuer = yield* Protection.issuer(...options)
  const notes = yield* Protection.notes(issuer)
  const port = yield* freePort
  const args = [webApp, "--port", String(port), "--notes", notes]
  const { stdout } = yield* Child.program(process.execPath, args)
  yield* Child.until(() => stdout().includes("listening at "))
  return { app: `http://127.0.0.1:${port}`, issuer }
})

/** A user of the application, with a browser. */
const user = Effect.fnUntraced(function*(app: string, name: string) {
  const browser = new Browser()
  const visit = (path: string, decisions: Decisions = {}, form?: Readonly<Record<string, string>>) =>
    Effect.promise(() =>
      browser.visit(
        new URL(path, app),
        { login: name, ...decisions },
        form === undefined ? undefined : { method: "POST", body: new URLSearchParams(form) }
      )
    )
  yield* visit("/login", {}, { user: name })
  return visit
})

/** Returns the notes of a page. */
const notesOf = ({ text }: { readonly text: string }): unknown => {
  const page: unknown = JSON.parse(text)
  return typeof page === "object" && page !== null && "notes" in page ? page.notes : page
}

const isCallback = ({ pathname }: URL): boolean => pathname === "/callback"

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

describe("webApp.ts", () => {
  it.live("each user signs in once, permits more to write, and has notes of their own", () =>
    Effect.gen(function*() {
      const { app, issuer } = yield* start()
      const ada = yield* user(app, "ada")
      const bob = yield* user(app, "bob")
      // The first page leads to the authorization server, and back to the application.
      assert.strictEqual((yield* ada("/notes")).url.href, `${app}/`)
      assert.strictEqual((yield* bob("/notes")).url.href, `${app}/`)
      assert.deepStrictEqual(notesOf(yield* ada("/notes")), [])
      assert.deepStrictEqual(issuer.grants(), ["authorization_code 200", "authorization_code 200"])

      const note = { text: "Water the plants." }
      assert.strictEqual((yield* ada("/notes", {}, note)).url.href, `${app}/`)
      assert.strictEqual((yield* ada("/notes", {}, note)).url.href, `${app}/notes`)
      assert.deepStrictEqual(notesOf(yield* ada("/notes")), [note.text])
      assert.deepStrictEqual(notesOf(yield* bob("/notes")), [])
      assert.lengthOf(issuer.grants(), 3)
    }), timeout)

  it.live(
    "no user can complete the sign-in of another, or without a session of the application",
    () =>
      Effect.gen(function*() {
        const { app, issuer } = yield* start()
        const ada = yield* user(app, "ada")
        const eve = yield* user(app, "eve")
        yield* eve("/notes", { isUnreachable: isCallback })
        const { url } = yield* ada("/notes", { isUnreachable: isCallback })
        assert.strictEqual((yield* eve(`${url.pathname}${url.search}`)).status, 400)
        assert.deepStrictEqual(issuer.grants(), [])
        assert.strictEqual((yield* ada(`${url.pathname}${url.search}`)).url.href, `${app}/`)
        assert.deepStrictEqual(notesOf(yield* ada("/notes")), [])
        assert.strictEqual((yield* ada(`${url.pathname}${url.search}`)).status, 400)
      }),
    timeout
  )

  it.live("renews tokens without the user, and forgets them when the user disconnects", () =>
    Effect.gen(function*() {
      const { app, issuer } = yield* start("--seconds", "4")
      const ada = yield* user(app, "ada")
      yield* ada("/notes")
      yield* Effect.sleep("4 seconds")
      assert.deepStrictEqual(notesOf(yield* ada("/notes")), [])
      assert.include(issuer.grants(), "refresh_token 200")
      const { status, url: home } = yield* ada("/disconnect", {}, {})
      assert.deepStrictEqual([status, home.href], [200, `${app}/`])
      const { url } = yield* ada("/notes", { isUnreachable: isCallback })
      assert.isTrue(isCallback(url))
    }), timeout)
})
