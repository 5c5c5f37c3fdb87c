/** The redirect of an authorization server. */
import { type OAuthError, WebUserAgent } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Net from "node:net"
import * as caller from "./support/caller.ts"
import { build, causeOf, started } from "./support/clients.ts"
import * as person from "./support/person.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

const reasonOf = <A>(exit: Exit.Exit<A, OAuthError.OAuthError>): OAuthError.OAuthErrorReason | undefined => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value.reason : undefined
}

describe("the redirect", () => {
  /** Signs in, and changes the redirect before it arrives. */
  const changed = (ada: scriptedPerson.ScriptedPerson, change: (redirect: URL) => void) => {
    ada.act = async (url) => {
      // The person's browser is stopped before the last redirect: no listener is at this port.
      const redirectUri = url.searchParams.get("redirect_uri") ?? ""
      const { url: end } = await person.visit(url, { stopAt: redirectUri })
      change(end)
      ada.ends.push(await person.visit(end))
    }
  }

  const changes: ReadonlyArray<readonly [string, (redirect: URL) => void]> = [
    ["a wrong issuer", (redirect: URL) => redirect.searchParams.set("iss", "https://evil.example")],
    [
      "an issuer with a slash",
      (redirect: URL) => redirect.searchParams.set("iss", `${redirect.searchParams.get("iss")}/`)
    ],
    ["no issuer, which the metadata promises", (redirect: URL) => redirect.searchParams.delete("iss")],
    ["an error of a wrong issuer", (redirect: URL) => {
      redirect.search = new URLSearchParams({
        state: redirect.searchParams.get("state") ?? "",
        iss: "https://evil.example",
        error: "visit_evil",
        error_description: "see https://evil.example"
      }).toString()
    }]
  ]

  it.live.each(changes)(
    "[AUT-28] [AUT-29] [AUT-30] the right state with %s ends the sign-in, and no code is sent",
    ([, change]) =>
      Effect.gen(function*() {
        const { identity, server } = yield* started()
        const ada = scriptedPerson.make()
        changed(ada, change)
        const oauth = yield* build({ userAgent: ada.userAgent })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "MixedUp")
        assert.notInclude(String(Exit.findErrorOption(exit)), "evil")
        assert.lengthOf(identity.to("/token"), 0)
      })
  )

  it.live("[AUT-29] an issuer that its metadata does not promise may be absent, and is compared if it is there", () =>
    Effect.gen(function*() {
      for (const issuer of [undefined, "https://evil.example"]) {
        const { identity, server } = yield* started()
        const { issuer: own } = identity
        identity.intercept = (request, response) => {
          if (request.url?.startsWith("/.well-known/") !== true) return false
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
            issuer: own,
            authorization_endpoint: `${own}/auth`,
            token_endpoint: `${own}/token`,
            registration_endpoint: `${own}/reg`,
            code_challenge_methods_supported: ["S256"]
          }))
          return true
        }
        const ada = scriptedPerson.make()
        changed(ada, ({ searchParams }) => {
          searchParams.delete("iss")
          if (issuer !== undefined) searchParams.set("iss", issuer)
        })
        const oauth = yield* build({ userAgent: ada.userAgent })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, issuer === undefined ? undefined : "MixedUp")
        assert.lengthOf(identity.to("/token"), issuer === undefined ? 1 : 0)
      }
    }))

  it.live("[AUT-31] URI that has neither https nor a loopback address is not registered, and no window opens", () =>
    Effect.gen(function*() {
      for (const redirectUri of ["http://app.example/callback", "app:/callback", "callback"]) {
        const { identity, server } = yield* started()
        const oauth = yield* build({ userAgent: WebUserAgent.make({ redirectUri }).of("ada") })
        const exit = yield* Effect.exit(oauth.start(server.url))
        const reason = reasonOf(exit)
        assert.include(reason?._tag === "UserAgentFailed" ? reason.problem : "", redirectUri)
        assert.lengthOf(identity.to("/reg"), 0)
      }
    }))

  it.live("[AUT-32] URI of a client that is registered by hand is the one that it has registered", () =>
    Effect.gen(function*() {
      const port = yield* Effect.callback<number>((resume) => {
        const free = Net.createServer().listen(0, "127.0.0.1", () => {
          const address = free.address()
          free.close(() => resume(Effect.succeed(typeof address === "object" ? address?.port ?? 0 : 0)))
        })
      })
      const redirectUri = `http://127.0.0.1:${port}/of/notes`
      const { server } = yield* started({
        clients: [{
          client_id: "notes",
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "none",
          application_type: "native",
          grant_types: ["authorization_code", "refresh_token"]
        }]
      })
      const ada = scriptedPerson.make()
      const oauth = yield* build({
        userAgent: ada.userAgent,
        identity: { preRegistered: [{ clientId: "notes", redirectUri }] }
      })
      const signIn = yield* oauth.start(server.url)
      assert.deepStrictEqual(ada.windows.map(({ searchParams }) => searchParams.get("redirect_uri")), [redirectUri])
      yield* signIn?.authorized ?? Effect.void
      assert.strictEqual((yield* caller.call(oauth.authorization, server.url)).status, 200)
    }))

  it.live("[AUT-25] a redirect with another state changes nothing", () =>
    Effect.gen(function*() {
      const { server } = yield* started()
      const ada = scriptedPerson.make()
      const statuses: Array<number> = []
      ada.act = async (url) => {
        const stopAt = url.searchParams.get("redirect_uri") ?? ""
        const { url: redirect } = await person.visit(url, { stopAt })
        const forged = new URL(redirect)
        forged.searchParams.set("state", "forged")
        const repeated = new URL(redirect)
        repeated.searchParams.append("code", "other")
        for (const one of [forged, repeated, redirect]) statuses.push((await fetch(one)).status)
      }
      const oauth = yield* build({ userAgent: ada.userAgent })
      assert.strictEqual((yield* caller.callAndWait(oauth.authorization, server.url)).status, 200)
      assert.deepStrictEqual(statuses, [400, 400, 200])
    }))
})

describe("an issuer whose metadata does not list S256", () => {
  for (const assumesPkce of [undefined, true]) {
    it.live(`[AUT-21] [AUT-22] is ${assumesPkce === true ? "used, with S256, if assumesPkce" : "not used"}`, () =>
      Effect.gen(function*() {
        const { identity, server } = yield* started()
        identity.intercept = (request, response) => {
          if (request.url?.startsWith("/.well-known/") !== true) return false
          const { issuer } = identity
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            registration_endpoint: `${issuer}/reg`,
            response_types_supported: ["code"],
            authorization_response_iss_parameter_supported: true
          }))
          return true
        }
        const ada = scriptedPerson.make()
        const oauth = yield* build({ userAgent: ada.userAgent, assumesPkce })
        const exit = yield* Effect.exit(caller.callAndWait(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, assumesPkce === true ? undefined : "DiscoveryFailed")
        assert.deepStrictEqual(
          ada.windows.map(({ searchParams }) => searchParams.get("code_challenge_method")),
          assumesPkce === true ? ["S256"] : []
        )
        assert.strictEqual(Exit.isSuccess(exit), assumesPkce === true)
      }))
  }
})
