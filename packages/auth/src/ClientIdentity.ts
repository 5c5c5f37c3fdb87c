/**
 * The client that a program is at an authorization server: a client id, and the way in which the client authenticates.
 *
 * A program gets a client id in the order of the specification (AUT-15): from its options, from a Client ID Metadata
 * Document, from dynamic registration, or from a question to the host. A client id is used only with the issuer that
 * has given it (AUT-19).
 *
 * @stability unstable
 */
import * as InvalidOptionError from "@effect-mcp/session/InvalidOptionError"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import { isConfidential } from "./internal/confidential.ts"
import type { OAuthError } from "./OAuthError.ts"

/**
 * A private key, with which a client signs assertions (`private_key_jwt`).
 *
 * @category models
 */
export interface PrivateKey {
  /** The key as PKCS#8 in PEM, or as a JSON Web Key in JSON. */
  readonly key: Redacted.Redacted<string>
  /** The algorithm of its signatures, such as `ES256`. */
  readonly algorithm:
    | "EdDSA"
    | "Ed25519"
    | "ES256"
    | "ES384"
    | "ES512"
    | "PS256"
    | "PS384"
    | "PS512"
    | "RS256"
    | "RS384"
    | "RS512"
  /** The id by which the authorization server finds the public key. */
  readonly keyId?: string | undefined
}

/**
 * The way in which a client authenticates. Without a secret and without a key, it is a public client.
 *
 * @category models
 */
export interface Credential {
  readonly secret?: Redacted.Redacted<string> | undefined
  readonly privateKey?: PrivateKey | undefined
  /**
   * The method at the token endpoint. Default: the first of `private_key_jwt`, `client_secret_basic`,
   * `client_secret_post` and `none` that the client can use and the authorization server supports.
   */
  readonly method?: "client_secret_basic" | "client_secret_post" | "none" | "private_key_jwt" | undefined
}

/**
 * A client at an issuer.
 *
 * @category models
 */
export interface Client extends Credential {
  readonly clientId: string
  /** The issuer that has given the client id, byte for byte. The client is not used at another one (AUT-20). */
  readonly issuer?: string | undefined
  /** The redirect URI of the registration. Default: the one of the `UserAgent`. */
  readonly redirectUri?: string | undefined
}

/**
 * A client whose issuer the program names. Only such a client may have a secret or a private key, or belong to a
 * `Grant`: each server names an issuer of its choice, which would otherwise receive the secret or the assertion.
 *
 * @category models
 */
export interface IssuedClient extends Client {
  readonly issuer: string
}

/**
 * A client without a secret, whose issuer the program does not name. It belongs to the issuer at which a person signs
 * in with it first.
 *
 * @category models
 */
export interface PublicClient extends Client {
  readonly issuer?: undefined
  readonly secret?: undefined
  readonly privateKey?: undefined
  readonly method?: "none" | undefined
}

/**
 * A client that was registered before (AUT-16).
 *
 * @category models
 */
export type PreRegistered = IssuedClient | PublicClient

/**
 * The credential of the client of a Client ID Metadata Document. It has no secret, because each issuer would know it.
 *
 * @category models
 */
export interface DocumentCredential extends Credential {
  readonly secret?: undefined
  readonly method?: "none" | "private_key_jwt" | undefined
}

/**
 * The data of a dynamic registration (RFC 7591).
 *
 * @category models
 */
export interface Registration {
  /** The name that a person sees when the client asks for access. Default `MCP client`. */
  readonly clientName?: string | undefined
  /** The page of the client. */
  readonly clientUri?: string | undefined
  /** The logo of the client. */
  readonly logoUri?: string | undefined
  readonly softwareId?: string | undefined
  readonly softwareVersion?: string | undefined
}

/**
 * The identity of a program at authorization servers.
 *
 * @example
 * ```ts
 * import type { ClientIdentity } from "@effect-mcp/auth"
 * import * as Redacted from "effect/Redacted"
 *
 * export const identity: ClientIdentity.ClientIdentity = {
 *   preRegistered: [{ issuer: "https://auth.example", clientId: "notes", secret: Redacted.make("secret") }],
 *   metadataUrl: "https://notes.example/client.json"
 * }
 * ```
 *
 * @category models
 */
export interface ClientIdentity {
  readonly preRegistered?: ReadonlyArray<PreRegistered> | undefined
  /**
   * The URL of a Client ID Metadata Document: `https:`, with a path (AUT-13, AUT-14). It is the client id at each
   * authorization server that supports such documents. The program serves the document there; see {@link document}.
   */
  readonly metadataUrl?: string | undefined
  /** The credential of the client of the metadata document. Default: none, a public client. */
  readonly metadataCredential?: DocumentCredential | undefined
  /**
   * The data of dynamic registrations; `false` registers nothing. Default: registers a client, unless `preRegistered`
   * has one. A client for another issuer is then an error, and not a reason for a registration (AUT-20).
   */
  readonly registration?: Registration | false | undefined
  /**
   * Asks the host for a client at an issuer, if there is no other way to one. The server has named the issuer: return a
   * secret only for one that has given it.
   */
  readonly ask?: ((issuer: string) => Effect.Effect<Client | undefined, OAuthError>) | undefined
}

/**
 * A Client ID Metadata Document: the JSON at the URL that is the client id.
 *
 * @category models
 */
export interface Document {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly token_endpoint_auth_method: string
}

/** Returns whether a text can be the URL of a Client ID Metadata Document. */
const isDocumentUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, password, pathname, protocol, username } = new URL(text)
  return protocol === "https:" && pathname !== "/" && hash === "" && username === "" && password === ""
}

/** The example of an issuer in messages. */
const issuerExample = "the issuer that has given the client id, such as \"https://auth.example\""

const invalid = (option: string, given: unknown, allowed: string): InvalidOptionError.InvalidOptionError =>
  new InvalidOptionError.InvalidOptionError({ option, given, allowed })

/** Returns the problem of one client. A grant proves something at an issuer, also without a secret. */
const problemOf = (
  client: Client,
  index: number,
  hasGrant: boolean
): InvalidOptionError.InvalidOptionError | undefined => {
  const { clientId, issuer } = client
  if (clientId === "") return invalid("clientId", "", "a text")
  const isNeeded = hasGrant || isConfidential(client)
  if (issuer === undefined ? !isNeeded : URL.canParse(issuer)) return undefined
  return invalid(`identity.preRegistered[${index}].issuer`, issuer, issuerExample)
}

/**
 * Returns the problem of an identity as a value; `undefined` if it has none. `OAuth.layer` checks it by this function.
 * With a grant, each client needs its issuer.
 *
 * @example
 * ```ts
 * import { ClientIdentity } from "@effect-mcp/auth"
 *
 * export const message = ClientIdentity.check({ metadataUrl: "https://notes.example" })?.message
 * // => "metadataUrl must be an https: URL with a path, not \"https://notes.example\""
 * ```
 *
 * @category checks
 */
export const check = (
  { metadataCredential, metadataUrl, preRegistered = [] }: ClientIdentity,
  options: { readonly hasGrant?: boolean | undefined } = {}
): InvalidOptionError.InvalidOptionError | undefined => {
  const allowed = "an https: URL with a path"
  if (metadataUrl !== undefined && !isDocumentUrl(metadataUrl)) {
    return invalid("metadataUrl", metadataUrl, allowed)
  }
  // A type does not keep a program in JavaScript from it.
  const { secret }: Credential = metadataCredential ?? {}
  if (secret !== undefined) return invalid("metadataCredential", "one with a secret", "a private key")
  return preRegistered.map((client, index) => problemOf(client, index, options.hasGrant === true))
    .find((problem) => problem !== undefined)
}

/**
 * Returns the Client ID Metadata Document to serve at a URL, as `application/json` (AUT-14).
 *
 * @example
 * ```ts
 * import { ClientIdentity } from "@effect-mcp/auth"
 *
 * export const json = JSON.stringify(ClientIdentity.document({
 *   url: "https://notes.example/client.json",
 *   clientName: "Notes",
 *   redirectUris: ["http://127.0.0.1/callback"]
 * }))
 * ```
 *
 * @category constructors
 */
export const document = (options: {
  readonly url: string
  readonly clientName: string
  readonly redirectUris: ReadonlyArray<string>
  readonly method?: "none" | "private_key_jwt" | undefined
}): Document => ({
  client_id: options.url,
  client_name: options.clientName,
  redirect_uris: options.redirectUris,
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: options.method ?? "none"
})
