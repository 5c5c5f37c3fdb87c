/** The authorization of single requests at one server. */
import { ForeignCall } from "@effect-mcp/session/internal"
import { ContainedAuthorization } from "@effect-mcp/session/internalEngine"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as AuthenticationChallenge from "../../../AuthenticationChallenge.ts"
import type { ClientAuthorization, OutgoingRequest, ServerAuthorization } from "../../../ClientAuthorization.ts"
import type { HeaderValues } from "../../../HttpClientOptions.ts"
import { LimitedLog } from "../../shared/LimitedLog.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import type { HttpResponse } from "./HttpCall.ts"
import { none, plainHeaders } from "./ProgramHeaders.ts"

/** The number of times that a request is sent again: for a nonce, for a new token, and for three more scopes. */
const maxRepetitions = 5

/** The time that each function of an authorization may take. None waits for a person. */
const timeoutMillis = 60_000

/** A request, and what is known of it after it was sent. */
interface Sent {
  readonly method: OutgoingRequest["method"]
  /** Computes the operation, because it is needed only after a rejection. */
  readonly operation: () => string | undefined
  /** The URL that it was sent to last. */
  url: URL
  /** The headers that it was sent with last. */
  values: HeaderValues
  repetitions: number
}

/** Returns the error of a request that is answered with 401. */
export const unauthenticated = (response: HttpResponse): TransportError.TransportError =>
  TransportError.make({
    _tag: "Unauthenticated",
    challenge: response.header("www-authenticate"),
    target: ServerAddress.shown(response.url)
  })

/** Returns the member of the params that names what a request is for. */
const nameIn = (params: unknown): string | undefined => {
  if (Predicate.hasProperty(params, "name") && typeof params.name === "string") return params.name
  return Predicate.hasProperty(params, "uri") && typeof params.uri === "string" ? params.uri : undefined
}

/** Returns the operation of a message that this client has encoded. */
export const operationOf = (json: string): string | undefined => {
  const message: unknown = JSON.parse(json)
  if (!Predicate.hasProperty(message, "method") || typeof message.method !== "string") return undefined
  const name = Predicate.hasProperty(message, "params") ? nameIn(message.params) : undefined
  return name === undefined ? message.method : `${message.method} ${JSON.stringify(name)}`
}

/** The authorization of the requests of one connection. */
export class RequestAuthorization {
  readonly #server: ServerAuthorization
  readonly #log: LimitedLog
  #values = none
  #plain: Readonly<Record<string, string>> = {}

  constructor(server: ServerAuthorization, clock: Clock.Clock) {
    this.#server = server
    this.#log = new LimitedLog(clock)
  }

  /** Creates the state of a request that is to be sent to this URL. */
  begin(method: Sent["method"], url: URL, operation: Sent["operation"]): Sent {
    return { method, operation, url, values: none, repetitions: 0 }
  }

  /** Returns the headers of a request to this URL, as they are sent. */
  headers(sent: Sent, url: URL): Effect.Effect<Readonly<Record<string, string>>, TransportError.TransportError> {
    const { method } = sent
    return Effect.map(within("headers", url, () => this.#server.headers({ method, url })), (values) => {
      sent.url = url
      sent.values = values
      if (values !== this.#values) {
        this.#values = values
        this.#plain = plainHeaders(values)
      }
      return this.#plain
    })
  }

  /** Returns whether the authorization handles this response. For any other one it learns what the server sends. */
  isRejection({ method, url, values }: Sent, { header, status }: Pick<HttpResponse, "header" | "status">): boolean {
    if (status === 401) return true
    const challenge = status === 403 ? header("www-authenticate") : undefined
    if (challenge !== undefined && AuthenticationChallenge.parse(challenge).length > 0) return true
    try {
      this.#server.responded?.({ method, url, sentWith: values }, header)
    } catch {
      // A function of the program, which a response does not depend on.
    }
    return false
  }

  /** Handles a rejection, and returns whether to send the request again. */
  rejected(
    sent: Sent,
    { header, status }: Pick<HttpResponse, "header" | "status">
  ): Effect.Effect<boolean, TransportError.TransportError> {
    const { method, operation, repetitions, url, values } = sent
    if (repetitions >= maxRepetitions) return Effect.succeed(false)
    const text = header("www-authenticate") ?? ""
    const challenges = AuthenticationChallenge.parse(text)
    const isUnread = text.length > AuthenticationChallenge.bounds.maxCharacters ||
      (text !== "" && challenges[0] === undefined)
    const noted = isUnread
      // Without its text, which may be hostile.
      ? this.#log.warn(
        `${
          ServerAddress.shown(url)
        } has sent a WWW-Authenticate header that is too long or has no challenge; what can ` +
          "be read of it is used",
        { characters: text.length, challenges: challenges.length }
      )
      : Effect.void
    const handled = within("rejected", url, () =>
      this.#server.rejected({
        method,
        url,
        status: status === 401 ? 401 : 403,
        challenges,
        sentWith: values,
        operation: operation(),
        repetitions,
        header
      }))
    return Effect.map(Effect.andThen(noted, handled), (verdict) => {
      sent.repetitions++
      return verdict === "Again"
    })
  }
}

const failed = (url: URL, problem: string, cause: unknown): TransportError.TransportError =>
  TransportError.make({ _tag: "AuthorizationFailed", target: ServerAddress.shown(url), problem, cause })

/** Runs a function of the authorization. One that throws, or that takes too long, fails the request. */
const within = <A>(
  name: string,
  url: URL,
  call: () => Effect.Effect<A, TransportError.TransportError>
): Effect.Effect<A, TransportError.TransportError> =>
  ForeignCall.within(`ClientAuthorization.${name}`, timeoutMillis, call).pipe(
    Effect.catchTag("TimedOut", ({ message }) => failed(url, message, undefined)),
    Effect.catchDefect((defect) => failed(url, "the authorization threw an exception", defect)),
    // Streams and sessions wait for a person in the background, and end without the person.
    Effect.mapError((error) =>
      error.reason._tag === "AuthorizationRequired"
        ? TransportError.make(ContainedAuthorization.of(error.reason, TransportError.make))
        : error
    )
  )

/** Returns the authorization at a server, if there is one. */
export const of = (
  authorization: ClientAuthorization["Service"] | undefined,
  server: URL
): Effect.Effect<RequestAuthorization | undefined, TransportError.TransportError> =>
  authorization === undefined
    ? Effect.undefined
    : Effect.zipWith(
      within("of", server, () => authorization.of(new URL(server))),
      Clock.Clock,
      (server, clock) => new RequestAuthorization(server, clock)
    )
