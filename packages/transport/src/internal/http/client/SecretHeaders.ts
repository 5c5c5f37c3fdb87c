/** The headers of a client whose secrets its errors do not show. */
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { ClientAuthorization, type ServerAuthorization } from "../../../ClientAuthorization.ts"
import * as HiddenSecrets from "../../../HiddenSecrets.ts"
import type { HeaderOptions, HeaderValues } from "../../../HttpClientOptions.ts"
import { headersOf } from "./ProgramHeaders.ts"

/** The headers whose values are secrets, whether they are redacted or not. */
const secretNames: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "dpop",
  "proxy-authorization",
  "x-api-key"
])

const secretsIn = (values: HeaderValues = {}): ReadonlyArray<string | Redacted.Redacted<string>> =>
  Object.entries(values).flatMap(([name, value]) =>
    Redacted.isRedacted(value) || secretNames.has(name.toLowerCase()) ? [value] : []
  )

/** The options of headers, which hide what they give. */
export interface SecretHeaders {
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorization: ClientAuthorization["Service"] | undefined
  /** Returns the transport that sends the headers, and does not show their secrets. */
  readonly hide: (transport: Transport["Service"]) => Transport["Service"]
}

/** Returns the authorization of a server that passes the headers it gives to `learn`. */
const learning = (server: ServerAuthorization, learn: (values: HeaderValues) => void): ServerAuthorization => {
  let last: HeaderValues | undefined
  const { responded } = server
  return {
    headers: (request) =>
      Effect.map(server.headers(request), (values) => {
        // Most requests have the headers of the one before.
        if (values !== last) learn(values)
        last = values
        return values
      }),
    rejected: (request) => server.rejected(request),
    ...responded === undefined ? undefined : { responded: (request, header) => server.responded?.(request, header) }
  }
}

/** Returns options that remember the secrets among the headers. The authorization is that of the options, or given. */
const of = (
  { authorization, headers }: HeaderOptions,
  given: ClientAuthorization["Service"] | undefined
): SecretHeaders => {
  const authorizing = authorization ?? given
  const hidden = HiddenSecrets.make(Effect.isEffect(headers) ? [] : secretsIn(headers))
  const learn = (values: HeaderValues): void => secretsIn(values).forEach(hidden.add)
  const values = headersOf(headers)
  return {
    headers: Effect.isEffect(headers) ? Effect.tap(values, (values) => Effect.sync(() => learn(values))) : values,
    authorization: authorizing === undefined
      ? undefined
      : { of: (server) => Effect.map(authorizing.of(server), (server) => learning(server, learn)) },
    hide: authorizing === undefined && headers === undefined ? (transport) => transport : hidden.transport
  }
}

/** Returns the options of a client, with the authorization of the options, or that of the context. */
export const make = (options: HeaderOptions): Effect.Effect<SecretHeaders> =>
  Effect.map(
    Effect.serviceOption(ClientAuthorization),
    (provided) => of(options, Option.getOrUndefined(provided))
  )
