/** Discovery, identity and authentication at `oidc-provider`. */
import { ClientIdentity, TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { generateKeyPairSync } from "node:crypto"
import * as OAuthLibrary from "../../../src/internal/fetch/OAuthLibrary.ts"
import * as Registration from "../../../src/internal/registration/Registration.ts"
import { start as startDiscovery } from "../../support/discovery.ts"
import * as IdentityServer from "../../support/identityServer.ts"
import * as MetadataServer from "../../support/metadataServer.ts"
import * as person from "../../support/person.ts"

/** Starts a server whose authorization server is the provider, and finds it. */
const start = Effect.fnUntraced(function*(
  settings: (redirectUri: string) => IdentityServer.Settings,
  identityAt: (issuer: string) => ClientIdentity.ClientIdentity
) {
  const callback = yield* MetadataServer.start
  const redirectUri = `http://127.0.0.1:${callback.port}/callback`
  const provider = yield* IdentityServer.start(settings(redirectUri))
  const { discovery, http, name, server } = yield* startDiscovery()
  name([provider.issuer])
  const target = yield* discovery.discover({ server })
  const identity = identityAt(provider.issuer)
  const registration = Registration.make({ http, store: yield* TokenStore.makeMemory(), identity, account: "" })
  const client = yield* registration.clientFor(target, { uri: redirectUri, applicationType: "native" })
  return { provider, http, target, client, redirectUri }
})

type Started = Effect.Success<ReturnType<typeof start>>

/** Signs in as a person, and returns the resource for which the provider has issued the token. */
const audience = ({ client: { client, clientAuth }, http, provider, redirectUri, target }: Started) =>
  Effect.gen(function*() {
    const token = yield* OAuthLibrary.call(http, target, async (oauth, options) => {
      const verifier = oauth.generateRandomCodeVerifier()
      const state = oauth.generateRandomState()
      const url = new URL(target.metadata.authorization_endpoint ?? "")
      url.search = new URLSearchParams({
        client_id: client.client_id,
        response_type: "code",
        redirect_uri: redirectUri,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        scope: "notes:read",
        resource: target.resource,
        state
      }).toString()
      const { url: end, text } = await person.visit(url)
      assert.strictEqual(`${end.origin}${end.pathname}`, redirectUri, text.slice(0, 500))
      const parameters = oauth.validateAuthResponse(target.metadata, client, end, state)
      const response = await oauth.authorizationCodeGrantRequest(
        target.metadata,
        client,
        clientAuth,
        parameters,
        redirectUri,
        verifier,
        { ...options, additionalParameters: { resource: target.resource } }
      )
      return oauth.processAuthorizationCodeResponse(target.metadata, client, response)
    })
    const issued = yield* Effect.promise(() => provider.provider.AccessToken.find(token.access_token))
    return issued?.aud
  })

describe("oidc-provider signs in", () => {
  it.live("[AUT-12] a client that registers itself", () =>
    Effect.gen(function*() {
      const started = yield* start(() => ({}), () => ({}))
      assert.strictEqual(started.client.source, "Dynamic")
      assert.strictEqual(yield* audience(started), started.target.resource)
    }))

  it.live("[AUT-13] [AUT-14] a client with a metadata document", () =>
    Effect.gen(function*() {
      const url = "https://client.example/client.json"
      const documentOf = (redirectUri: string) =>
        ClientIdentity.document({ url, clientName: "Notes", redirectUris: [redirectUri] })
      const started = yield* start(
        (redirectUri) => ({ documents: { [url]: documentOf(redirectUri) } }),
        () => ({ metadataUrl: url })
      )
      assert.strictEqual(started.client.source, "MetadataDocument")
      assert.strictEqual(yield* audience(started), started.target.resource)
      assert.lengthOf(started.provider.to("/reg"), 0)
    }))

  it.live("[AUT-16] a client that was registered before, with a secret of any characters", () =>
    Effect.gen(function*() {
      const secret = "a:b+c/d%e f"
      const started = yield* start(
        (redirectUri) => ({
          clients: [{
            client_id: "notes",
            client_secret: secret,
            redirect_uris: [redirectUri],
            application_type: "native"
          }]
        }),
        (issuer) => ({ preRegistered: [{ issuer, clientId: "notes", secret: Redacted.make(secret) }] })
      )
      assert.strictEqual(yield* audience(started), started.target.resource)
    }))

  it.live("[AUX-01] a client with a private key", () =>
    Effect.gen(function*() {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const started = yield* start(
        (redirectUri) => ({
          clients: [{
            client_id: "notes",
            token_endpoint_auth_method: "private_key_jwt",
            token_endpoint_auth_signing_alg: "ES256",
            jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" }] },
            redirect_uris: [redirectUri],
            application_type: "native"
          }]
        }),
        (issuer) => ({
          preRegistered: [{
            issuer,
            clientId: "notes",
            privateKey: {
              key: Redacted.make(privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
              algorithm: "ES256",
              keyId: "k1"
            }
          }]
        })
      )
      assert.strictEqual(yield* audience(started), started.target.resource)
    }))
})
