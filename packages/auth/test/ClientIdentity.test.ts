/** The client ids that a program gives. */
import { ClientIdentity, Grant, OAuth } from "@effect-mcp/auth"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

const wrong = [
  "https://notes.example",
  "https://notes.example/",
  "http://notes.example/client.json",
  "https://notes.example/client.json#fragment",
  "https://ada:secret@notes.example/client.json",
  "/client.json",
  "notes"
]

describe("[AUT-14] the URL of a Client ID Metadata Document", () => {
  it("is an https: URL with a path", () => {
    assert.isUndefined(ClientIdentity.check({ metadataUrl: "https://notes.example/client.json" }))
    assert.isUndefined(ClientIdentity.check({ metadataUrl: "https://notes.example/clients/notes?version=2" }))
    for (const metadataUrl of wrong) {
      assert.strictEqual(ClientIdentity.check({ metadataUrl })?.given, metadataUrl)
    }
  })

  it.effect("is checked when the Layer is built", () =>
    Effect.gen(function*() {
      const identity = { metadataUrl: "https://notes.example" }
      for (const options of [{ identity }, { servers: { "https://mcp.example/mcp": { identity } } }]) {
        const exit = yield* Effect.exit(Layer.build(OAuth.layer(options)))
        const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.include(String(defect), "https: URL with a path")
      }
    }))

  it("is the client id in the document, with a name and the redirect URIs", () => {
    const url = "https://notes.example/client.json"
    const redirectUris = ["http://127.0.0.1/callback", "https://notes.example/callback"]
    assert.deepInclude(ClientIdentity.document({ url, clientName: "Notes", redirectUris }), {
      client_id: url,
      client_name: "Notes",
      redirect_uris: redirectUris
    })
  })
})

describe("a client id of a registration", () => {
  it("is not empty", () => {
    assert.isUndefined(ClientIdentity.check({ preRegistered: [{ clientId: "notes" }] }))
    assert.deepInclude(ClientIdentity.check({ preRegistered: [{ clientId: "" }] }), { option: "clientId" })
  })
})

describe("[AUT-19] the issuer of a client", () => {
  const secret = Redacted.make("the secret")
  const privateKey = { key: Redacted.make("the key"), algorithm: "ES256" } as const

  /** Returns an identity that does not compile, as a program in JavaScript can have it. */
  const ofJavaScript = (identity: object): ClientIdentity.ClientIdentity => Object.assign(JSON.parse("{}"), identity)

  it("with a secret or a private key does not compile without its issuer", () => {
    type Named = { readonly clientId: string; readonly issuer: string }
    type Unnamed = { readonly clientId: string }
    type WithSecret = { readonly secret: typeof secret }
    type WithKey = { readonly privateKey: typeof privateKey }
    expectTypeOf<Unnamed>().toExtend<ClientIdentity.PreRegistered>()
    expectTypeOf<Named & WithSecret>().toExtend<ClientIdentity.PreRegistered>()
    expectTypeOf<Named & WithKey>().toExtend<ClientIdentity.PreRegistered>()
    expectTypeOf<Unnamed & WithSecret>().not.toExtend<ClientIdentity.PreRegistered>()
    expectTypeOf<Unnamed & WithKey>().not.toExtend<ClientIdentity.PreRegistered>()
  })

  /** Returns the defect of the Layer, or `undefined`. */
  const defectOf = (options: OAuth.Options) =>
    Effect.map(
      Effect.exit(Effect.scoped(Layer.build(OAuth.layer(options)))),
      (exit) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : undefined
    )

  it.effect("is named for a client with a secret or a private key: the Layer fails, and says what to write", () =>
    Effect.gen(function*() {
      for (const credential of [{ secret }, { privateKey }]) {
        const identity = ofJavaScript({ preRegistered: [{ clientId: "notes", ...credential }] })
        for (const options of [{ identity }, { servers: { "https://mcp.example/mcp": { identity } } }]) {
          const defect = yield* defectOf(options)
          assert.include(defect, "identity.preRegistered[0].issuer must be the issuer that has given the client id")
          assert.include(defect, "https://auth.example")
          assert.notInclude(defect, "the secret")
        }
        const preRegistered = [{ clientId: "notes", issuer: "https://auth.example", ...credential }]
        assert.isUndefined(yield* defectOf({ identity: { preRegistered } }))
      }
    }))

  it.effect("is named for each client of a grant, also if the grant is that of one server", () =>
    Effect.gen(function*() {
      const assertion = Effect.succeed(Redacted.make("assertion"))
      const provider = { issuer: "https://idp.example", tokenEndpoint: "https://idp.example/token" }
      const grants = [
        Grant.clientCredentials,
        Grant.workloadIdentity(assertion),
        Grant.enterpriseManaged({
          provider: { ...provider, client: { clientId: "a" } },
          subject: Effect.map(assertion, (token) => ({ token }))
        })
      ]
      const identity = { preRegistered: [{ clientId: "pod" }] }
      assert.isUndefined(yield* defectOf({ identity }), "a public client of a person")
      for (const grant of grants) {
        assert.include(yield* defectOf({ grant, identity }), "issuer must be the issuer")
        assert.include(
          yield* defectOf({ identity, servers: { "https://mcp.example/mcp": { grant } } }),
          "issuer must be the issuer"
        )
        const preRegistered = [{ clientId: "pod", issuer: "https://auth.example" }]
        assert.isUndefined(yield* defectOf({ grant, identity: { preRegistered } }))
      }
    }))

  it("is a URL", () => {
    const preRegistered = [{ clientId: "notes", issuer: "auth.example", secret }]
    assert.strictEqual(ClientIdentity.check({ preRegistered })?.given, "auth.example")
  })

  it("a client of a metadata document has no secret, because each issuer would know it", () => {
    const metadataUrl = "https://notes.example/client.json"
    const identity = ofJavaScript({ metadataUrl, metadataCredential: { secret } })
    assert.deepInclude(ClientIdentity.check(identity), { option: "metadataCredential" })
    expectTypeOf<{ readonly secret: typeof secret }>().not.toExtend<ClientIdentity.DocumentCredential>()
    assert.isUndefined(ClientIdentity.check({ metadataUrl, metadataCredential: { privateKey } }))
  })
})
