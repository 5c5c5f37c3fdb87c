/**
 * The client that a program is at an authorization server: a client id, and the way in which the client authenticates.
 *
 * A program gets a client id in the order of the specification (AUT-15): from its options, from a Client ID Metadata
 * Document, from dynamic registration, or from a question to the host. A client id is used only with the issuer that
 * has given it (AUT-19).
 */
import * as InvalidOptionError from "@effect-mcp/session/InvalidOptionError"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
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
 * A client that was registered before (AUT-16).
 *
 * @category models
 */
export interface PreRegistered extends Credential {
  readonly clientId: string
  /**
   * The issuer that has given the client id. Default: the issuer of the first server that uses the client id. With
   * another issuer it is not used (AUT-20).
   *
   * Name it for a client with a secret, and for one of `Grant.workloadIdentity`: the server names its issuer, so that a
   * hostile server that is the first would receive the secret or the assertion.
   */
  readonly issuer?: string | undefined
  /** The redirect URI of the registration. Default: the one of the `UserAgent`. */
  readonly redirectUri?: string | undefined
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
  readonly metadataCredential?: Credential | undefined
  /**
   * The data of dynamic registrations; `false` registers nothing. Default: registers a client, unless `preRegistered`
   * has one. A client for another issuer is then an error, and not a reason for a registration (AUT-20).
   */
  readonly registration?: Registration | false | undefined
  /** Asks the host for a client at an issuer, if there is no other way to one. */
  readonly ask?: ((issuer: string) => Effect.Effect<PreRegistered | undefined, OAuthError>) | undefined
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

/**
 * Returns the problem of an identity as a value; `undefined` if it has none. `OAuth.layer` checks it by this function.
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
export const check = ({ metadataUrl, preRegistered = [] }: ClientIdentity):
  | InvalidOptionError.InvalidOptionError
  | undefined =>
{
  const allowed = "an https: URL with a path"
  if (metadataUrl !== undefined && !isDocumentUrl(metadataUrl)) {
    return new InvalidOptionError.InvalidOptionError({ option: "metadataUrl", given: metadataUrl, allowed })
  }
  const nameless = preRegistered.find(({ clientId }) => clientId === "")
  if (nameless === undefined) return undefined
  return new InvalidOptionError.InvalidOptionError({ option: "clientId", given: "", allowed: "a text" })
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
