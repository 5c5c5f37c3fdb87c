/** The windows that a person sees: none without an act, and few for one operation. */
import type { TransportError } from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as person from "./support/person.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

const isPermanent = <A>(exit: Exit.Exit<A, TransportError>): boolean => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" && error.value.reason._tag === "AuthorizationFailed" &&
    error.value.reason.isPermanent === true
}

describe("windows", () => {
  it.live("an accepted request without the new token does not make the token accepted", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const access = yield* oauth.authorization.of(server.url)
      yield* oauth.login(server.url)
      server.judge = () => ({ status: 401, challenge: "" })
      access.responded?.({ method: "POST", url: server.url, sentWith: {} }, () => undefined)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
      assert.lengthOf(ada.windows, 1)
    }))

  it.live("the error of a token that was just issued has the reason of the server, unless it repeats the token", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      let reason: (authorization: string) => string = () => "its key is not known"
      server.judge = ({ authorization = "" }) => ({
        status: 401,
        challenge: `error="invalid_token", error_description="${reason(authorization)}", `
      })
      const first = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.deepInclude(causeOf(first), { _tag: "TokenRejected", description: "its key is not known" })
      assert.include(String(Exit.findErrorOption(first)), "just issued for it: \"its key is not known\"; check")
      reason = (authorization) => authorization.replace("Bearer ", "unknown: ")
      yield* oauth.login(server.url)
      const second = causeOf(yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url)))
      assert.deepStrictEqual(second, { _tag: "TokenRejected", server: server.url.href })
    }))

  it.live("a server that always answers 401 opens one window, and another only after login", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      server.judge = () => ({ status: 401, challenge: "" })
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      for (let attempt = 0; attempt < 4; attempt++) {
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
        assert.isTrue(isPermanent(exit))
      }
      assert.lengthOf(ada.windows, 1)
      assert.lengthOf(server.calls, 2, "later requests are not sent")
      yield* oauth.login(server.url)
      assert.lengthOf(ada.windows, 2)
      yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.lengthOf(ada.windows, 2)
    }))

  it.live("an operation whose tokens are always rejected keeps no other from them, and causes few refreshes", () =>
    Effect.gen(function*() {
      const { identity, server } = yield* started()
      server.judge = ({ operation }) => operation === "listen" ? { status: 401, challenge: "" } : undefined
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      for (let attempt = 0; attempt < 6; attempt++) {
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url, "listen"))
        assert.strictEqual(causeOf(exit)?._tag, "TokenRejected")
        assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      }
      assert.lengthOf(ada.windows, 1)
      const refreshes = identity.to("/token").filter(({ body }) => body.get("grant_type") === "refresh_token")
      assert.lengthOf(refreshes, 3)
      yield* oauth.login(server.url)
      server.judge = undefined
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url, "listen")).status, 200)
    }))

  it.live("a person who cancels is asked no more, until login", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const act = ada.act
      ada.act = (url) => person.visit(url, { cancels: true })
      const oauth = yield* build({ userAgent: ada.userAgent })
      const denied = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.deepInclude(causeOf(denied), { _tag: "Denied", error: "access_denied" })
      const next = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(next)?._tag, "SignInRequired")
      assert.lengthOf(ada.windows, 1)
      ada.act = act
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.lengthOf(ada.windows, 2)
    }))

  it.live("a person who confirms gets another window; one who does not, none, and no question until login", () =>
    Effect.gen(function*() {
      const { server } = yield* started({ withoutRefreshTokens: true })
      let answer = true
      let questions = 0
      const ada = scriptedPerson.make({
        confirm: () =>
          Effect.sync(() => {
            questions += 1
            return answer
          })
      })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const revoked: Array<string | undefined> = []
      const revoke = () => revoked.push(server.calls.at(-1)?.authorization)
      server.judge = ({ authorization }) => revoked.includes(authorization) ? { status: 401, challenge: "" } : undefined
      revoke()
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [1, 2])
      revoke()
      answer = false
      for (let attempt = 0; attempt < 3; attempt++) {
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      }
      assert.deepStrictEqual([questions, ada.windows.length], [2, 2])
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [2, 3])
      revoke()
      answer = true
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual([questions, ada.windows.length], [3, 4])
      yield* oauth.logout(server.url)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      assert.strictEqual(questions, 3, "a person who has signed out is not asked")
    }))

  it.live("login begins a sign-in anew, and those who wait for the first one go on", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const act = ada.act
      ada.act = () => Promise.resolve()
      const oauth = yield* build({ userAgent: ada.userAgent })
      const waiting = yield* Effect.forkChild(caller.callAndWait(oauth.authorization, server.url))
      while (ada.windows.length === 0) yield* Effect.sleep(2)
      ada.act = act
      yield* oauth.login(server.url)
      assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
      assert.lengthOf(ada.windows, 2)
    }))
})

describe("step-up", () => {
  it.live("[AUT-38] [AUT-39] a missing scope is requested with those before, after the person has confirmed", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const outcome = yield* caller.callAndWait(oauth.authorization, server.url, "write")
      assert.deepStrictEqual([outcome.status, outcome.scope], [200, "notes:read notes:write"])
      // The authorization server lists `offline_access`.
      assert.strictEqual(ada.windows[1]?.searchParams.get("scope"), "notes:read offline_access notes:write")
    }))

  it.live("without a person's act there is no window, and login asks for the scope", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url, "write"))
      assert.strictEqual(causeOf(exit)?._tag, "SignInRequired")
      const scopes = "with the scopes \"notes:read offline_access notes:write\"; call OAuth.login"
      assert.include(String(Exit.findErrorOption(exit)), scopes)
      assert.lengthOf(ada.windows, 1)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200, "other operations go on")
      yield* oauth.login(server.url)
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url, "write")).status, 200)
    }))

  it.live("[AUT-40] an operation that is never content causes at most three", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      server.judge = ({ operation }) =>
        operation === "greedy"
          ? { status: 403, challenge: "error=\"insufficient_scope\", scope=\"notes:write\", " }
          : undefined
      const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url, "greedy"))
      assert.deepInclude(causeOf(exit), { _tag: "StepUpLimit", operation: "greedy", limit: 3 })
      assert.lengthOf(ada.windows, 4)
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url, "write")).status, 200)
    }))

  it.live("a 403 for another reason is final", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make({ confirm: () => Effect.succeed(true) })
      const oauth = yield* build({ userAgent: ada.userAgent })
      yield* caller.callAndWait(oauth.authorization, server.url)
      server.judge = () => ({ status: 403 })
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 403)
      assert.lengthOf(ada.windows, 1)
    }))
})
