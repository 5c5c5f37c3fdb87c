import { WebUserAgent } from "@effect-mcp/auth"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const redirectUri = "https://app.example/callback"

const visit = Effect.fnUntraced(function*(users: WebUserAgent.WebUserAgent, user: string, state: string, url?: string) {
  const agent = users.of(user)
  if (agent._tag !== "Redirect") return yield* Effect.die("no redirect")
  const { applicationType, uri, visit } = yield* agent.open(undefined)
  assert.deepStrictEqual([uri, applicationType], [redirectUri, "web"])
  return yield* visit(
    new URL(url ?? "https://issuer.example/authorize"),
    { server: "https://notes.example", issuer: "https://issuer.example", scopes: undefined },
    (parameters) => parameters.get("state") === state
  )
}, Effect.scoped)

it.effect("a redirect completes the sign-in of its user and state, once", () =>
  Effect.gen(function*() {
    const users = WebUserAgent.make({ redirectUri })
    const start = (user: string, state: string) =>
      Effect.forkChild(visit(users, user, state), { startImmediately: true })
    const ada = yield* start("ada", "a")
    const other = yield* start("ada", "b")
    const bob = yield* start("bob", "c")
    const complete = (user: string, query: string) => users.complete(user, new URLSearchParams(query))
    assert.isFalse(yield* complete("bob", "state=a&code=1"), "the redirect of another user")
    assert.isFalse(yield* complete("ada", "state=x&code=1"))
    assert.isFalse(yield* complete("stranger", "state=a&code=1"))
    assert.isTrue(yield* complete("ada", "state=a&code=1"))
    assert.isFalse(yield* complete("ada", "state=a&code=2"), "repeated")
    assert.isTrue(yield* complete("bob", "state=c&code=3"))
    assert.strictEqual((yield* Fiber.join(ada)).get("code"), "1")
    assert.strictEqual((yield* Fiber.join(bob)).get("code"), "3")
    yield* Fiber.interrupt(other)
    assert.isFalse(yield* complete("ada", "state=b&code=4"), "the sign-in has ended")
  }))

it.effect("[AUT-52] a page is not sent to a URL that is not https", () =>
  Effect.gen(function*() {
    const visiting = yield* Effect.forkChild(
      visit(WebUserAgent.make({ redirectUri }), "ada", "a", "javascript:alert(1)"),
      { startImmediately: true }
    )
    const exit = visiting.pollUnsafe()
    assert.isTrue(exit !== undefined && Exit.isFailure(exit), "the visit waits for a redirect")
  }))
