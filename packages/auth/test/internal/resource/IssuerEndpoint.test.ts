import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OAuthHttp from "../../../src/internal/fetch/OAuthHttp.ts"
import * as IssuerEndpoint from "../../../src/internal/resource/IssuerEndpoint.ts"
import { issuerMetadata, oauthAt, reasonOf } from "../../support/discovery.ts"
import * as MetadataServer from "../../support/metadataServer.ts"

it.live("an endpoint of the metadata is kept for an hour, and one that the program names is not searched", () =>
  Effect.gen(function*() {
    const { origin, requests, routes } = yield* MetadataServer.start
    const http = yield* OAuthHttp.makePlatform()
    let now = 0
    const clock: Clock.Clock = { ...yield* Clock.Clock, currentTimeMillisUnsafe: () => now }
    const settings = { http, clock, issuer: origin, member: "token_endpoint", option: "tokenEndpoint" } as const
    const endpoint = IssuerEndpoint.make({ ...settings, given: undefined })
    const move = (token_endpoint: string | undefined) => routes.set(oauthAt, issuerMetadata(origin, { token_endpoint }))

    move(undefined)
    const reason = yield* reasonOf(endpoint)
    assert.deepInclude(reason, { rule: "it has no token_endpoint", remedy: "set tokenEndpoint" })
    move(`${origin}/one`)
    assert.strictEqual(yield* endpoint, `${origin}/one`)
    move(`${origin}/two`)
    now += 3_599_999
    assert.strictEqual(yield* endpoint, `${origin}/one`)
    now += 1
    assert.strictEqual(yield* endpoint, `${origin}/two`)

    const before = requests.length
    const given = IssuerEndpoint.make({ ...settings, given: `${origin}/given` })
    assert.strictEqual(yield* given, `${origin}/given`)
    assert.lengthOf(requests, before)
  }))
