/**
 * Grants of programs that run without a person: the program itself, or the organization that runs it, is authorized.
 *
 * The client is one of `preRegistered` of the `ClientIdentity`: no client is registered for such a grant (AUX-01). It
 * names its `issuer`, because each server names one of its choice, which would receive the secret or the assertion.
 *
 * @stability unstable
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Credential } from "./ClientIdentity.ts"

/**
 * The identity provider of an organization, and the client that the program is there.
 *
 * @category models
 */
export interface IdentityProvider {
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly client: Credential & { readonly clientId: string }
}

/**
 * The token by which the identity provider knows the person who uses the program.
 *
 * @category models
 */
export interface SubjectToken {
  readonly token: Redacted.Redacted<string>
  /** The type of the token. Default: an ID token. */
  readonly type?: "id_token" | "saml2" | undefined
}

/**
 * A grant without a person.
 *
 * - `ClientCredentials`: the client authenticates by a secret or a private key.
 * - `WorkloadIdentity`: an assertion of the platform, such as a token of a service account, is the grant (RFC 7523).
 * - `EnterpriseManaged`: the identity provider of an organization permits the access (Identity Assertion JWT
 *   Authorization Grant).
 *
 * @category models
 */
export type Grant =
  | { readonly _tag: "ClientCredentials" }
  | { readonly _tag: "WorkloadIdentity"; readonly assertion: Effect.Effect<Redacted.Redacted<string>> }
  | {
    readonly _tag: "EnterpriseManaged"
    readonly provider: IdentityProvider
    readonly subject: Effect.Effect<SubjectToken>
  }

/**
 * The grant of a client that authenticates by its secret or its private key (AUX-01).
 *
 * @example
 * ```ts
 * import { Grant, OAuth } from "@effect-mcp/auth"
 * import * as Redacted from "effect/Redacted"
 *
 * export const job = OAuth.layer({
 *   grant: Grant.clientCredentials,
 *   identity: {
 *     preRegistered: [{ issuer: "https://auth.example", clientId: "nightly", secret: Redacted.make("secret") }]
 *   }
 * })
 * ```
 *
 * @category constructors
 */
export const clientCredentials: Grant = { _tag: "ClientCredentials" }

/**
 * The grant of a workload whose platform asserts its identity (RFC 7523; AUX-06). The assertion is read for each token
 * request, and for the `issuer` of the client only. After a rejection there is no other attempt until `OAuth.login`.
 *
 * @example
 * ```ts
 * import { Grant } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 * import * as fs from "node:fs/promises"
 *
 * export const ofPod = Grant.workloadIdentity(
 *   Effect.map(Effect.promise(() => fs.readFile("/var/run/secrets/token", "utf8")), Redacted.make)
 * )
 * ```
 *
 * @category constructors
 */
export const workloadIdentity = (assertion: Effect.Effect<Redacted.Redacted<string>>): Grant => ({
  _tag: "WorkloadIdentity",
  assertion
})

/**
 * The grant of a program whose organization decides about access (AUX-03, AUX-04): the identity provider exchanges the
 * person's ID token for an assertion (RFC 8693), which the authorization server of the MCP server accepts (RFC 7523).
 *
 * @example
 * ```ts
 * import { Grant } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * declare const idToken: Effect.Effect<string>
 *
 * export const ofOrganization = Grant.enterpriseManaged({
 *   provider: {
 *     issuer: "https://idp.example",
 *     tokenEndpoint: "https://idp.example/token",
 *     client: { clientId: "notes", secret: Redacted.make("secret") }
 *   },
 *   subject: Effect.map(idToken, (token) => ({ token: Redacted.make(token) }))
 * })
 * ```
 *
 * @category constructors
 */
export const enterpriseManaged = (options: {
  readonly provider: IdentityProvider
  readonly subject: Effect.Effect<SubjectToken>
}): Grant => ({ _tag: "EnterpriseManaged", ...options })

const extensionIds: Readonly<Record<Grant["_tag"], string>> = {
  ClientCredentials: "io.modelcontextprotocol/oauth-client-credentials",
  WorkloadIdentity: "io.modelcontextprotocol/workload-identity-federation",
  EnterpriseManaged: "io.modelcontextprotocol/enterprise-managed-authorization"
}

/**
 * Returns the extensions of grants, for the `capabilities` of both sides (AUX-02). A client declares the grant that it
 * uses. A server declares the grants that its authorization servers support, by their names.
 *
 * @example
 * ```ts
 * import { Grant } from "@effect-mcp/auth"
 *
 * export const ofClient = { extensions: Grant.extensions(Grant.clientCredentials) }
 * // => { extensions: { "io.modelcontextprotocol/oauth-client-credentials": {} } }
 *
 * export const ofServer = { extensions: Grant.extensions("ClientCredentials", "WorkloadIdentity") }
 * ```
 *
 * @category getters
 */
export const extensions = (
  ...grants: ReadonlyArray<Grant | Grant["_tag"]>
): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  Object.fromEntries(grants.map((grant) => [extensionIds[typeof grant === "string" ? grant : grant._tag], {}]))
