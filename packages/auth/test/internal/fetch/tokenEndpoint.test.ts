import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import * as OAuthHttp from "../../../src/internal/fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../../../src/internal/fetch/OAuthLibrary.ts"
import * as MetadataServer from "../../support/metadataServer.ts"

const json = { "content-type": "application/json" }

/** Requests tokens from a server with this route at its token endpoint. */
const tokensFrom = (route: MetadataServer.Route) =>
  Effect.gen(function*() {
    const { origin, requests, routes } = yield* MetadataServer.start
    routes.set("/token", route)
    const http = yield* OAuthHttp.makePlatform({ timeout: "300 millis" })
    const as = { issuer: origin, token_endpoint: `${origin}/token` }
    const client = { client_id: "c1" }
    const tokens = OAuthLibrary.call(
      http,
      { server: new URL(`${origin}/mcp`), issuer: origin },
      async (oauth, options) => {
        const auth = oauth.ClientSecretPost("secret-1")
        const response = await oauth.refreshTokenGrantRequest(as, client, auth, "refresh-1", options)
        return oauth.processRefreshTokenResponse(as, client, response)
      }
    )
    return { tokens, requests }
  })

/** Returns the kind of the failure, and checks that it shows no secret. */
const failureOf = (route: MetadataServer.Route) =>
  Effect.gen(function*() {
    const { tokens } = yield* tokensFrom(route)
    const error = yield* Effect.flip(tokens)
    const shown = `${error.message} ${Inspectable.toStringUnknown(error)} ${String(error.stack)}`
    for (const secret of ["secret-1", "refresh-1", "access-1"]) assert.notInclude(shown, secret)
    return error.reason
  })

describe("a token request", () => {
  it.live("returns the tokens", () =>
    Effect.gen(function*() {
      const { requests, tokens } = yield* tokensFrom({ json: { access_token: "access-1", token_type: "Bearer" } })
      assert.strictEqual((yield* tokens).access_token, "access-1")
      assert.strictEqual(
        requests[0]?.body,
        "refresh_token=refresh-1&grant_type=refresh_token&client_id=c1&client_secret=secret-1"
      )
    }))

  it.live("that is rejected is TokenRequestFailed with the words of the server, also beside a challenge", () =>
    Effect.gen(function*() {
      const body = JSON.stringify({ error: "invalid_client", error_description: "unknown" })
      const reason = yield* failureOf((response) =>
        response.writeHead(401, { ...json, "www-authenticate": "Basic realm=\"as\"" }).end(body)
      )
      assert.deepInclude(reason, {
        _tag: "TokenRequestFailed",
        status: 401,
        error: "invalid_client",
        description: "unknown"
      })
      const grant = yield* failureOf({ json: { error: "invalid_grant" }, status: 400 })
      assert.deepInclude(grant, { _tag: "TokenRequestFailed", status: 400, error: "invalid_grant" })
    }))

  it.live("to a server that is down, slow or overloaded, or is redirected, is Unavailable", () =>
    Effect.gen(function*() {
      const routes: ReadonlyArray<MetadataServer.Route> = [
        (response) => response.destroy(),
        () => {},
        (response) => response.writeHead(500).end(),
        { json: { error: "invalid_grant" }, status: 503 },
        (response) => response.writeHead(302, { location: "https://other.example/token" }).end(),
        { json: { access_token: "access-1", token_type: "Bearer", padding: "x".repeat(100_000) } }
      ]
      for (const route of routes) assert.strictEqual((yield* failureOf(route))._tag, "Unavailable")
      const limited = yield* failureOf((response) => response.writeHead(429, { "retry-after": "3" }).end())
      assert.deepInclude(limited, { _tag: "Unavailable", retryAfterMillis: 3000 })
    }))

  it.live("with a response against the specification is TokenRequestFailed", () =>
    Effect.gen(function*() {
      const routes: ReadonlyArray<MetadataServer.Route> = [
        (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>access-1"),
        { json: { token_type: "Bearer" } },
        { json: { access_token: "access-1", token_type: "unknown" } },
        { json: {}, status: 404 }
      ]
      for (const route of routes) {
        assert.deepInclude(yield* failureOf(route), { _tag: "TokenRequestFailed", error: "invalid_response" })
      }
    }))

  it.live("that is interrupted is aborted", () =>
    Effect.gen(function*() {
      let isClosed = false
      const { requests, tokens } = yield* tokensFrom((response) => response.on("close", () => isClosed = true))
      yield* Effect.timeoutOption(tokens, "100 millis")
      while (!isClosed) yield* Effect.sleep("5 millis")
      assert.lengthOf(requests, 1)
    }))
})
