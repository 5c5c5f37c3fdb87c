/** The headers that a program gives a client, among them those that authorize it. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import type { HeaderOptions, HeaderValues } from "../../../HttpClientOptions.ts"

type PlainHeaders = Readonly<Record<string, string>>

const none: HeaderValues = {}

/** Returns an effect that makes the headers of one request. */
export const headersOf = (headers: HeaderOptions["headers"]): Effect.Effect<HeaderValues> =>
  headers === undefined ? Effect.succeed(none) : Effect.isEffect(headers) ? headers : Effect.succeed(headers)

/** Returns headers as they are sent: their names in lower case, and no value redacted. */
export const plainHeaders = (values: HeaderValues): PlainHeaders =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : Redacted.value(value)
    ])
  )

/** The headers that authorize a client to one server. However many requests need new ones, `authorize` runs once. */
export class AuthorizationHeaders {
  readonly #authorize: HeaderOptions["authorize"]
  readonly #authorizing = Semaphore.makeUnsafe(1)
  #current: PlainHeaders = {}
  #version = 0

  constructor(authorize: HeaderOptions["authorize"]) {
    this.#authorize = authorize
  }

  /** The current headers. */
  get current(): PlainHeaders {
    return this.#current
  }

  /** The number of the current headers, by which a request remembers those that it was sent with. */
  get version(): number {
    return this.#version
  }

  /** Gets new headers, unless there are newer ones than the request was sent with. Returns whether there are. */
  renew(challenge: string | undefined, sentWith: number): Effect.Effect<boolean> {
    const authorize = this.#authorize
    if (authorize === undefined) return Effect.succeed(false)
    return Effect.suspend((): Effect.Effect<boolean> => {
      if (this.#version !== sentWith) return Effect.succeed(true)
      return Effect.map(authorize(challenge), (values) => {
        if (values === undefined) return false
        this.#current = plainHeaders(values)
        this.#version++
        return true
      })
    }).pipe(this.#authorizing.withPermits(1))
  }
}
