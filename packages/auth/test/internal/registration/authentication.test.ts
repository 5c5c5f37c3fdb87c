import type { ClientIdentity } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { generateKeyPairSync } from "node:crypto"
import type { Target } from "../../../src/internal/discovery/Target.ts"
import * as ClientAuthentication from "../../../src/internal/registration/ClientAuthentication.ts"

const issuer = "https://issuer.example"

const targetWith = (methods: Array<string> | undefined): Target => ({
  server: new URL("https://mcp.example/mcp"),
  resource: "https://mcp.example/mcp",
  sendsResource: true,
  issuer,
  metadata: { issuer, ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods }) },
  scopes: undefined,
  isLegacy: false
})

const secret = Redacted.make("s:1")

const pem = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" }
}).privateKey

const privateKey: ClientIdentity.PrivateKey = { key: Redacted.make(pem), algorithm: "ES256", keyId: "k1" }

/** Returns the headers and the body of a token request. */
const requestOf = (methods: Array<string> | undefined, credential: ClientIdentity.Credential) =>
  Effect.gen(function*() {
    const clientAuth = yield* ClientAuthentication.make(targetWith(methods), credential)
    const [body, headers] = [new URLSearchParams(), new Headers()]
    yield* Effect.promise(async () => clientAuth({ issuer }, { client_id: "c1" }, body, headers))
    return { body, authorization: headers.get("authorization") }
  })

const basic = `Basic ${btoa("c1:s%3A1")}`

describe("the authentication at the token endpoint", () => {
  it.live("of a public client is its id", () =>
    Effect.gen(function*() {
      for (const methods of [undefined, ["none"], ["client_secret_basic"]]) {
        const { authorization, body } = yield* requestOf(methods, {})
        assert.isNull(authorization)
        assert.strictEqual(body.toString(), "client_id=c1")
      }
    }))

  it.live("by a secret is Basic, unless the server supports only the body", () =>
    Effect.gen(function*() {
      for (const methods of [undefined, ["client_secret_post", "client_secret_basic"], ["client_secret_basic"]]) {
        const { authorization, body } = yield* requestOf(methods, { secret })
        assert.strictEqual(authorization, basic)
        assert.strictEqual(body.toString(), "")
      }
      const { authorization, body } = yield* requestOf(["client_secret_post"], { secret })
      assert.isNull(authorization)
      assert.strictEqual(body.get("client_secret"), "s:1")
      assert.strictEqual((yield* requestOf(["none"], { secret })).body.toString(), "client_id=c1")
    }))

  it.live("by a method that the program names is that one", () =>
    Effect.gen(function*() {
      const { body } = yield* requestOf(["client_secret_basic"], { secret, method: "client_secret_post" })
      assert.strictEqual(body.get("client_secret"), "s:1")
    }))

  it.live("[AUX-01] by a key is an assertion for the issuer", () =>
    Effect.gen(function*() {
      const { body } = yield* requestOf(["private_key_jwt", "client_secret_basic"], { secret, privateKey })
      const [header = "", payload = ""] = body.get("client_assertion")?.split(".") ?? []
      const decode = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString())
      assert.deepInclude(decode(header), { alg: "ES256", kid: "k1" })
      assert.deepInclude(decode(payload), { iss: "c1", sub: "c1", aud: issuer })
    }))

  it.live("by a key of each algorithm signs, from PEM and from a JSON Web Key", () =>
    Effect.gen(function*() {
      const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048 })
      const keys = [
        ["ES384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
        ["ES512", generateKeyPairSync("ec", { namedCurve: "P-521" })],
        ["Ed25519", generateKeyPairSync("ed25519")],
        ["EdDSA", generateKeyPairSync("ed25519")],
        ["RS256", rsa()],
        ["PS384", rsa()]
      ] as const
      for (const [algorithm, { privateKey: key }] of keys) {
        const texts = [
          key.export({ type: "pkcs8", format: "pem" }).toString(),
          JSON.stringify({ ...key.export({ format: "jwk" }), use: "sig", alg: algorithm, key_ops: ["sign"] })
        ]
        for (const text of texts) {
          const { body } = yield* requestOf(["private_key_jwt"], {
            privateKey: { key: Redacted.make(text), algorithm }
          })
          assert.isNotNull(body.get("client_assertion"), algorithm)
        }
      }
    }))

  it.live("by a credential that the server does not support, or that is no key, is NoClient without the secret", () =>
    Effect.gen(function*() {
      const broken = { privateKey: { ...privateKey, key: Redacted.make("secret text") } }
      const other = { privateKey: { ...privateKey, algorithm: "RS256" as const } }
      for (
        const effect of [
          requestOf(["private_key_jwt"], { secret }),
          requestOf(["tls_client_auth"], { secret }),
          requestOf(["private_key_jwt"], broken),
          requestOf(["private_key_jwt"], other)
        ]
      ) {
        const error = yield* Effect.flip(effect)
        assert.strictEqual(error.reason._tag, "NoClient")
        assert.notInclude(error.message, "s:1")
        assert.notInclude(error.message, "secret text")
      }
    }))
})
