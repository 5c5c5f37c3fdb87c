/** The headers of a client whose secrets its errors do not show. */
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as HiddenSecrets from "../../../HiddenSecrets.ts"
import type { HeaderOptions, HeaderValues } from "../../../HttpClientOptions.ts"
import { headersOf } from "./AuthorizationHeaders.ts"

/** The headers whose values are secrets, whether they are redacted or not. */
const secretNames: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "x-api-key"])

const secretsIn = (values: HeaderValues = {}): ReadonlyArray<string | Redacted.Redacted<string>> =>
  Object.entries(values).flatMap(([name, value]) =>
    Redacted.isRedacted(value) || secretNames.has(name.toLowerCase()) ? [value] : []
  )

/** The options of headers, which hide what they give. */
interface SecretHeaders {
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorize: HeaderOptions["authorize"]
  /** Returns the transport that sends the headers, and does not show their secrets. */
  readonly hide: (transport: Transport["Service"]) => Transport["Service"]
}

/** Returns options that remember the secrets among the headers. */
export const of = ({ authorize, headers }: HeaderOptions): SecretHeaders => {
  const hidden = HiddenSecrets.make(Effect.isEffect(headers) ? [] : secretsIn(headers))
  const learn = (values: HeaderValues | undefined): void => secretsIn(values).forEach(hidden.add)
  const values = headersOf(headers)
  return {
    headers: Effect.isEffect(headers) ? Effect.tap(values, (values) => Effect.sync(() => learn(values))) : values,
    authorize: authorize === undefined
      ? undefined
      : (challenge) => Effect.tap(authorize(challenge), (values) => Effect.sync(() => learn(values))),
    hide: authorize === undefined && headers === undefined ? (transport) => transport : hidden.transport
  }
}
