/** Servers that name an issuer of their own, to which a client would send its credential. */
import { Grant, type OAuth, TokenStore, UserAgent } from "@effect-mcp/auth"
import type { ClientAuthorization } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { generateKeyPairSync } from "node:crypto"
import * as caller from "./support/caller.ts"
import { build, causeOf } from "./support/clients.ts"
import * as identityServer from "./support/identityServer.ts"
import * as protectedServer from "./support/protectedServer.ts"
import * as scriptedPerson from "./support/scriptedPerson.ts"

const secret = "a secret of the tests"

const clients = [{
  client_id: "known",
  client_secret: secret,
  token_endpoint_auth_method: "client_secret_basic",
  grant_types: ["authorization_code", "refresh_token", "client_credentials"],
  redirect_uris: ["http://127.0.0.1/callback"],
  application_type: "native"
}]

/** Starts two issuers that know the client, and a server that names the hostile one. */
const start = Effect.gen(function*() {
  const own = yield* identityServer.start({ clients })
  const hostile = yield* identityServer.start({ clients })
  const server = yield* protectedServer.start(own)
  server.issuers = [hostile.issuer]
  return { own, hostile, server }
})

/** Returns the authentications of the client at an issuer. */
const authentications = ({ requests }: identityServer.IdentityServer): ReadonlyArray<string | undefined> =>
  requests.map(({ headers }) => headers.authorization).filter((value) => value !== undefined)

const basic = `Basic ${btoa("known:a+secret+of+the+tests")}`

/** Asserts that the issuer got requests for its metadata, and nothing from the client. */
const gotNothing = (issuer: identityServer.IdentityServer): void => {
  const paths = issuer.requests.map(({ path }) => path).filter((path) => !path.startsWith("/.well-known/"))
  assert.deepStrictEqual(paths, [])
}

describe("[AUT-19] a server that names a hostile issuer", () => {
  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const pem = key.export({ type: "pkcs8", format: "pem" }).toString()
  const credentials = {
    "a secret": { secret: Redacted.make(secret) },
    "a private key": { privateKey: { key: Redacted.make(pem), algorithm: "ES256" } }
  } as const

  for (const [name, credential] of Object.entries(credentials)) {
    it.live(`gets no token request of a job with ${name}`, () =>
      Effect.gen(function*() {
        const { hostile, own, server } = yield* start
        const preRegistered = [{ issuer: own.issuer, clientId: "known", ...credential }]
        const oauth = yield* build({ grant: Grant.clientCredentials, identity: { preRegistered } })
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "NoClient")
        gotNothing(hostile)
      }))
  }

  it.live("gets no assertion of a platform, and no identity provider is asked for one", () =>
    Effect.gen(function*() {
      const { hostile, own, server } = yield* start
      let reads = 0
      const assertion = Effect.sync(() => {
        reads += 1
        return Redacted.make("assertion")
      })
      const grants = [
        Grant.workloadIdentity(assertion),
        Grant.enterpriseManaged({
          provider: { issuer: own.issuer, tokenEndpoint: `${own.issuer}/token`, client: { clientId: "known" } },
          subject: Effect.map(assertion, (token) => ({ token }))
        })
      ]
      for (const grant of grants) {
        const preRegistered = [{ issuer: own.issuer, clientId: "pod" }]
        const oauth = yield* build({ grant, identity: { preRegistered } })
        const exit = yield* Effect.exit(caller.call(oauth.authorization, server.url))
        assert.strictEqual(causeOf(exit)?._tag, "NoClient")
      }
      assert.strictEqual(reads, 0)
      gotNothing(hostile)
      gotNothing(own)
    }))
})

describe("[AUT-19] the secret of a configuration", () => {
  const configured = { clientId: "known", clientSecret: Redacted.make(secret) }

  /** Returns the authorization of a program whose configuration describes the client. */
  const programOf = (
    options: OAuth.Options,
    client: ClientAuthorization.ConfiguredClient = configured
  ) =>
    Effect.map(
      build(options),
      ({ authorization }): ClientAuthorization.ClientAuthorization["Service"] => ({
        of: (server) => authorization.of(server, client)
      })
    )

  it.live("belongs to the issuer that the entry names: no window shows another one", () =>
    Effect.gen(function*() {
      const { hostile, own, server } = yield* start
      const ada = scriptedPerson.make()
      const program = yield* programOf({ userAgent: ada.userAgent }, { ...configured, issuer: own.issuer })
      const exit = yield* Effect.exit(caller.callAndWait(program, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "NoClient")
      assert.lengthOf(ada.windows, 0)
      gotNothing(hostile)
      const user = yield* programOf({ userAgent: ada.userAgent }, { ...configured, issuer: own.issuer })
      server.issuers = [own.issuer]
      assert.strictEqual((yield* caller.callAndWait(user, server.url)).status, 200)
      assert.deepStrictEqual(authentications(own), [basic])
    }))

  it.live("without an issuer, is not sent before a person has signed in, who may leave the page", () =>
    Effect.gen(function*() {
      const { hostile, own, server } = yield* start
      const store = yield* TokenStore.makeMemory()
      const bob = scriptedPerson.make({ decisions: { cancels: true } })
      const first = yield* programOf({ userAgent: bob.userAgent, store })
      const exit = yield* Effect.exit(caller.callAndWait(first, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "Denied")
      assert.deepStrictEqual(authentications(hostile), [])
      assert.lengthOf(hostile.to("/token"), 0)

      // Nothing has bound the client to the issuer whose page the person has left.
      server.issuers = [own.issuer]
      const ada = scriptedPerson.make()
      const second = yield* programOf({ userAgent: ada.userAgent, store })
      assert.strictEqual((yield* caller.callAndWait(second, server.url)).status, 200)
      assert.deepStrictEqual(authentications(own), [basic])
    }))

  it.live("belongs to the issuer at which a person has signed in, also in the next process", () =>
    Effect.gen(function*() {
      const { hostile, own, server } = yield* start
      server.issuers = [own.issuer]
      const store = yield* TokenStore.makeMemory()
      const ada = scriptedPerson.make()
      const options = { userAgent: ada.userAgent, store }
      yield* Effect.flatMap(programOf(options), (program) => caller.callAndWait(program, server.url))
      server.issuers = [hostile.issuer]
      const old = server.calls.at(-1)?.authorization
      server.judge = ({ authorization }) => authorization === old ? { status: 401, challenge: "" } : undefined
      const program = yield* programOf(options)
      const exit = yield* Effect.exit(caller.callAndWait(program, server.url))
      assert.include(String(causeOf(exit)?._tag), "NoClient")
      assert.lengthOf(ada.windows, 1)
      gotNothing(hostile)
    }))

  it.live("is not sent for the code of a device, which precedes the page", () =>
    Effect.gen(function*() {
      const { hostile, server } = yield* start
      const program = yield* programOf({ userAgent: UserAgent.device(() => Effect.void) })
      const exit = yield* Effect.exit(caller.callAndWait(program, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "NoClient")
      gotNothing(hostile)
    }))

  it.live("is not sent by the grant of a program", () =>
    Effect.gen(function*() {
      const { hostile, own, server } = yield* start
      const options = { grant: Grant.clientCredentials }
      const unnamed = yield* programOf(options)
      const exit = yield* Effect.exit(caller.call(unnamed, server.url))
      assert.strictEqual(causeOf(exit)?._tag, "NoClient")
      gotNothing(hostile)
      server.issuers = [own.issuer]
      const named = yield* programOf(options, { ...configured, issuer: own.issuer })
      assert.strictEqual((yield* caller.call(named, server.url)).status, 200)
    }))
})
