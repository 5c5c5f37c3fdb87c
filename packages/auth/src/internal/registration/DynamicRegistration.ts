/** Dynamic registration of a client (RFC 7591; AUT-12, AUT-17, AUT-18). */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as ClientIdentity from "../../ClientIdentity.ts"
import * as OAuthError from "../../OAuthError.ts"
import type { Target } from "../discovery/Target.ts"
import * as JsonBody from "../fetch/JsonBody.ts"
import { type OAuthHttp, type OAuthResponse, UnusableResponse } from "../fetch/OAuthHttp.ts"
import * as OAuthLibrary from "../fetch/OAuthLibrary.ts"
import type { StoredRegistration } from "../tokens/StoredRegistration.ts"

/** The place of a redirect, as far as a registration has it. */
export interface RegisteredRedirection {
  readonly uri: string
  readonly applicationType: "native" | "web"
}

const Response = Schema.Struct({
  client_id: Schema.NonEmptyString,
  client_secret: Schema.optional(Schema.String),
  // Servers leave it out, or send it as a text, although RFC 7591 requires the number.
  client_secret_expires_at: Schema.optional(Schema.Unknown),
  token_endpoint_auth_method: Schema.optional(Schema.String)
})

const decode = Schema.decodeUnknownResult(Response)

const ErrorBody = Schema.Struct({ error: Schema.String, error_description: Schema.optional(Schema.String) })
const decodeError = Schema.decodeUnknownResult(ErrorBody)

/** The most characters of the server's explanation. */
const shownCharacters = 300

/** The methods of clients without a key. */
type RegisteredMethod = "client_secret_basic" | "client_secret_post" | "none"

const registeredMethods: ReadonlyArray<RegisteredMethod> = ["none", "client_secret_basic", "client_secret_post"]

/** Returns the method to register. A native client cannot keep a secret, so it has none if that is possible. */
const methodFor = ({ metadata }: Target, isWeb: boolean): RegisteredMethod => {
  const supported = metadata.token_endpoint_auth_methods_supported
  const preferred = isWeb ? [...registeredMethods.slice(1), ...registeredMethods.slice(0, 1)] : registeredMethods
  const unlisted = isWeb ? "client_secret_basic" : "none"
  return supported === undefined ? unlisted : preferred.find((one) => supported.includes(one)) ?? "none"
}

const grants = (redirection: RegisteredRedirection | undefined): ReadonlyArray<string> =>
  redirection === undefined
    ? ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]
    : ["authorization_code", "refresh_token"]

/** Returns the body of the request. Members that are `undefined` are not sent. */
const bodyOf = (
  target: Target,
  registration: ClientIdentity.Registration,
  redirection: RegisteredRedirection | undefined
): string =>
  JSON.stringify({
    client_name: registration.clientName ?? "MCP client",
    client_uri: registration.clientUri,
    logo_uri: registration.logoUri,
    software_id: registration.softwareId,
    software_version: registration.softwareVersion,
    application_type: redirection?.applicationType ?? "native",
    redirect_uris: redirection === undefined ? [] : [redirection.uri],
    grant_types: grants(redirection),
    response_types: redirection === undefined ? [] : ["code"],
    token_endpoint_auth_method: methodFor(target, redirection?.applicationType === "web")
  })

const failed = (issuer: string, status: number, problem: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "RegistrationFailed", issuer, status, problem: Excerpt.of(problem, shownCharacters) })

/** Returns the server's explanation of a rejection. */
const explanationOf = (response: OAuthResponse): string => {
  const body = JsonBody.read(response)
  const error = body._tag === "Read" ? decodeError(body.json) : Result.fail(undefined)
  if (Result.isFailure(error)) return "it gives no reason"
  const { error: code, error_description: description } = error.success
  return description === undefined ? code : `${code}: ${description}`
}

/** Returns the time at which a secret expires, in milliseconds; `0` is never. */
const expiryOf = (given: unknown): number | undefined => {
  const seconds = Number(given)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined
}

const parse = (
  issuer: string,
  response: OAuthResponse,
  redirection: RegisteredRedirection | undefined
): Result.Result<StoredRegistration, OAuthError.OAuthError> => {
  const { status } = response
  if (status !== 200 && status !== 201) return Result.fail(failed(issuer, status, explanationOf(response)))
  const body = JsonBody.read(response)
  if (body._tag === "Problem") return Result.fail(failed(issuer, status, body.problem))
  const decoded = decode(body.json)
  if (Result.isFailure(decoded)) return Result.fail(failed(issuer, status, "the response has no client_id"))
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method: authMethod = "" } =
    decoded.success
  // Some servers send an empty secret to public clients.
  const secret = client_secret === undefined || client_secret === "" ? undefined : Redacted.make(client_secret)
  return Result.succeed({
    clientId: client_id,
    clientSecret: secret,
    secretExpiresAt: secret === undefined ? undefined : expiryOf(client_secret_expires_at),
    authMethod,
    redirectUri: redirection?.uri
  })
}

/** Registers a client. Fails with `RegistrationFailed` if the authorization server rejects it. */
export const register = (
  http: OAuthHttp,
  target: Target,
  endpoint: URL,
  registration: ClientIdentity.Registration,
  redirection: RegisteredRedirection | undefined
): Effect.Effect<StoredRegistration, OAuthError.OAuthError> =>
  http.send(target.server, {
    method: "POST",
    url: endpoint,
    headers: { accept: "application/json", "content-type": "application/json" },
    body: bodyOf(target, registration, redirection)
  }).pipe(
    Effect.catch((error) =>
      Effect.fail(error instanceof UnusableResponse ? failed(target.issuer, 0, error.problem) : error)
    ),
    Effect.flatMap((response) => {
      const outage = OAuthLibrary.outageOf(endpoint, response)
      return outage === undefined
        ? Effect.fromResult(parse(target.issuer, response, redirection))
        : Effect.fail(outage)
    })
  )
