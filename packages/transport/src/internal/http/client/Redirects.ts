/**
 * The redirects within the origin of the server (RFC 9110, 15.4).
 *
 * They are not followed to another origin, because requests contain credentials and session ids.
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import * as HttpCall from "./HttpCall.ts"
import * as ResponseBody from "./ResponseBody.ts"

type Method = HttpCall.Call["method"]
type Called = Effect.Effect<HttpCall.HttpResponse, TransportError.TransportError, Scope.Scope>

/** The most redirects in a row that are followed. */
const limit = 5

/** The most characters of a `Location` that an error shows. */
const shownCharacters = 200

/**
 * The URLs that replace the program's URL. A redirect of a POST or a DELETE moves every method, because 307 and 308
 * keep the method; a redirect of a GET moves only GETs.
 */
export interface Moves {
  every: URL | undefined
  get: URL | undefined
}

/** Creates an object without moves. Each transport has one for the permanent moves of all its connections. */
export const noMoves = (): Moves => ({ every: undefined, get: undefined })

/** 301 and 308 are permanent, the others temporary. The first three may turn a POST into a GET. */
const isPermanent = (status: number): boolean => status === 301 || status === 308
const keepsMethod = (status: number): boolean => status === 307 || status === 308
const isRedirect = (status: number): boolean => keepsMethod(status) || (status >= 301 && status <= 303)

const shown = (location: string, base: URL): string => {
  if (!URL.canParse(location, base.href)) {
    return JSON.stringify(Excerpt.of(ServerAddress.shown(location), shownCharacters))
  }
  const url = new URL(location, base)
  return Excerpt.of(url.host === "" ? url.protocol : ServerAddress.shown(url), shownCharacters)
}

const problemOf = (method: Method, from: URL, { header, status }: HttpCall.HttpResponse, followed: number) => {
  const location = header("location")
  if (location === undefined) return "the redirect has no Location"
  const named = `the redirect to Location ${shown(location, from)} is not followed`
  if (method !== "GET" && !keepsMethod(status)) return `${named}: with this status, only a GET is redirected`
  if (!URL.canParse(location, from.href)) return `${named}: it is not a URL`
  if (new URL(location, from).origin !== from.origin) {
    return `${named}: it is not at ${from.origin}; set \`url\` to it if that server may have the headers`
  }
  return followed < limit ? undefined : `${named}: the server has redirected the request ${limit} times before`
}

/** Returns the URL of a redirect, without credentials: `fetch` rejects a URL that has some. */
const targetOf = (location: string, from: URL): URL => {
  const url = new URL(location, from)
  url.username = ""
  url.password = ""
  return url
}

/** The URL of one endpoint, as one connection calls it. */
export class Location {
  readonly #given: URL
  readonly #permanent: Moves
  #temporary = noMoves()

  constructor(given: URL, permanent: Moves) {
    this.#given = given
    this.#permanent = permanent
  }

  /** Returns the URL of a method. */
  of(method: Method): URL {
    const [temporary, permanent] = [this.#temporary, this.#permanent]
    return (method === "GET" ? temporary.get ?? permanent.get : undefined) ??
      temporary.every ?? permanent.every ?? this.#given
  }

  /** Drops the temporary redirects, because they belong to a session that is lost. */
  reset(): void {
    this.#temporary = noMoves()
  }

  #move(method: Method, url: URL, isPermanent: boolean): void {
    const member = method === "GET" ? "get" : "every"
    this.#temporary[member] = url
    if (isPermanent) this.#permanent[member] = url
  }

  /** Sends a request, and sends it again wherever the server redirects it. Moves to a successful response are kept. */
  follow(method: Method, request: (url: URL) => Called): Called {
    const begin = this.of(method)
    return Effect.flatMap(
      request(begin),
      (response) =>
        isRedirect(response.status) ? this.#followOn(method, request, begin, response) : Effect.succeed(response)
    )
  }

  #followOn(method: Method, request: (url: URL) => Called, begin: URL, redirect: HttpCall.HttpResponse): Called {
    return Effect.gen({ self: this }, function*() {
      let url = begin
      let response = redirect
      // The first URL has moved permanently only if each redirect on the way is permanent.
      let permanent = url === this.#given || url === this.#permanent.every || url === this.#permanent.get
      for (let followed = 0; isRedirect(response.status); followed++) {
        const { status } = response
        yield* ResponseBody.discard(response)
        const problem = problemOf(method, url, response, followed)
        if (problem !== undefined) {
          const target = ServerAddress.shown(url)
          return yield* TransportError.make({ _tag: "Rejected", status, problem, retryAfterMillis: undefined, target })
        }
        permanent &&= isPermanent(status)
        url = targetOf(response.header("location") ?? "", url)
        response = yield* request(url)
      }
      if (HttpCall.isAccepted(response)) this.#move(method, url, permanent)
      return response
    })
  }
}
