/** The authentication of a client at the token endpoint, chosen from the metadata of the authorization server. */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Redacted from "effect/Redacted"
import type { ClientAuth, CryptoKey } from "oauth4webapi"
import type { Credential, PrivateKey } from "../../ClientIdentity.ts"
import * as OAuthError from "../../OAuthError.ts"
import type { Target } from "../discovery/Target.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import * as SigningKey from "./SigningKey.ts"

/** A method of authentication. */
export type Method = NonNullable<Credential["method"]>

/** The methods in the order of preference. */
const methods: ReadonlyArray<Method> = ["private_key_jwt", "client_secret_basic", "client_secret_post", "none"]

/** Returns whether a text names a method. */
export const isMethod = (text: string): text is Method => methods.some((method) => method === text)

const noClient = (issuer: string, remedy: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "NoClient", issuer, remedy })

const canUse = ({ privateKey, secret }: Credential, method: Method): boolean => {
  if (method === "private_key_jwt") return privateKey !== undefined
  // A secret that is not sent authenticates nothing, but the client works as a public one.
  return method === "none" || secret !== undefined
}

/** Returns the methods that the authorization server supports. Without a list, it supports Basic (RFC 8414). */
const supportedBy = ({ metadata }: Target): ReadonlyArray<string> =>
  metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]

/** Returns the method of a client; `undefined` if the client can use none that the server supports. */
export const methodOf = (target: Target, credential: Credential): Method | undefined => {
  if (credential.method !== undefined) return canUse(credential, credential.method) ? credential.method : undefined
  const { privateKey, secret } = credential
  // A public client has nothing to choose, and servers without a list accept it.
  if (privateKey === undefined && secret === undefined) return "none"
  const supported = supportedBy(target)
  const listed = methods.find((method) => supported.includes(method) && canUse(credential, method))
  if (listed !== undefined || target.metadata.token_endpoint_auth_methods_supported !== undefined) return listed
  return methods.find((method) => canUse(credential, method))
}

const importKey = (issuer: string, privateKey: PrivateKey): Effect.Effect<CryptoKey, OAuthError.OAuthError> =>
  Effect.tryPromise({
    try: () => SigningKey.read(privateKey),
    // The cause may show a part of the key.
    catch: () => {
      const problem = `the private key of the client is no key for ${privateKey.algorithm}`
      return noClient(issuer, `${problem}; give PKCS#8 in PEM, or a JSON Web Key`)
    }
  })

/** Encodes a text as a form does (RFC 6749, 2.3.1). */
const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

/**
 * Authenticates by the header. The function of the library also encodes `-`, `.` and `_`, which servers that do not
 * decode the id and the secret reject.
 */
export const basic = (secret: string): ClientAuth => (_server, client, _body, headers) => {
  const credentials = Base64.encode(`${formEncoded(client.client_id)}:${formEncoded(secret)}`)
  headers.set("authorization", `Basic ${credentials}`)
}

/** Returns the function by which `oauth4webapi` authenticates requests to the token endpoint. */
export const make = Effect.fnUntraced(function*(
  target: Target,
  credential: Credential
): Effect.fn.Return<ClientAuth, OAuthError.OAuthError> {
  const { issuer } = target
  const method = methodOf(target, credential)
  const library = yield* OAuthLibrary.load
  const { privateKey, secret } = credential
  if (method === "none") return library.None()
  if (method === "private_key_jwt" && privateKey !== undefined) {
    const key = yield* importKey(issuer, privateKey)
    return library.PrivateKeyJwt(privateKey.keyId === undefined ? { key } : { key, kid: privateKey.keyId })
  }
  if (method !== undefined && secret !== undefined) {
    const value = Redacted.value(secret)
    return method === "client_secret_basic" ? basic(value) : library.ClientSecretPost(value)
  }
  const supported = supportedBy(target).slice(0, 10).map(Excerpt.name).join(", ")
  return yield* noClient(issuer, `its token endpoint supports only ${supported}; give such a credential`)
})
