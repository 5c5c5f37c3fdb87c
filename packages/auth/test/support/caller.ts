/** A client that uses an authorization as the transports do: it sends a request again after a rejection. */
import type { TransportError } from "@effect-mcp/session/TransportError"
import { AuthenticationChallenge, type ClientAuthorization } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** The response that a request has in the end. */
export interface Outcome {
  readonly status: number
  readonly account: string | undefined
  readonly scope: string | undefined
}

const decode = Schema.decodeUnknownSync(
  Schema.Struct({ account: Schema.optional(Schema.String), scope: Schema.optional(Schema.String) })
)

/** The times that a request is sent again. */
const maxRepetitions = 5

/** Sends a request. Fails with `AuthorizationRequired` while a person has to act. */
export const call = (
  authorization: ClientAuthorization.ClientAuthorization["Service"],
  url: URL,
  operation = "read"
): Effect.Effect<Outcome, TransportError> =>
  Effect.gen(function*() {
    const server = yield* authorization.of(url)
    const request: ClientAuthorization.OutgoingRequest = { method: "POST", url }
    for (let repetitions = 0;; repetitions++) {
      const values = yield* server.headers(request)
      const headers = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : Redacted.value(value)])
      )
      const response = yield* Effect.promise(() =>
        fetch(url, { method: "POST", body: "{}", headers: { ...headers, "x-operation": operation } })
      )
      const { account, scope } = decode(yield* Effect.promise(() => response.json()))
      const { status } = response
      const header = (name: string) => response.headers.get(name) ?? undefined
      if (status !== 401 && status !== 403) {
        server.responded?.({ ...request, sentWith: values }, header)
        return { status, account, scope }
      }
      const next = yield* server.rejected({
        ...request,
        status,
        challenges: AuthenticationChallenge.parse(header("www-authenticate") ?? ""),
        sentWith: values,
        operation,
        repetitions,
        header
      })
      if (next === "Final" || repetitions === maxRepetitions) return { status, account, scope }
    }
  })

/** Sends a request, and waits for a person as often as necessary. */
export const callAndWait = (
  authorization: ClientAuthorization.ClientAuthorization["Service"],
  url: URL,
  operation = "read"
): Effect.Effect<Outcome, TransportError> =>
  Effect.catch(call(authorization, url, operation), (error) =>
    error.reason._tag === "AuthorizationRequired"
      ? Effect.andThen(error.reason.authorized, Effect.suspend(() => callAndWait(authorization, url, operation)))
      : Effect.fail(error))
