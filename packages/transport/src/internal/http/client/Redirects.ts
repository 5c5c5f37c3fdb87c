/**
 * Redirects, followed within the origin of the server (RFC 9110, 15.4). To another origin, credentials and session ids
 * would go along.
 */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as HttpCall from "./HttpCall.ts"
import * as ResponseBody from "./ResponseBody.ts"
import * as ServerAddress from "./serverAddress.ts"

type Method = HttpCall.Call["method"]
type Called = Effect.Effect<HttpCall.Answer, TransportError.TransportError, Scope.Scope>

/** The most redirects in a row that are followed. */
const limit = 5

/** The most characters of a `Location` that an error shows. */
const shownCharacters = 200

/**
 * Where requests go instead of to the URL that the program named. A redirect of a POST or a DELETE moves every method,
 * because 307 and 308 keep the method; one of a GET moves only GETs.
 */
export interface Moves {
  every: URL | undefined
  get: URL | undefined
}

/** No moves. One object belongs to a transport, and collects the permanent moves of all of its connections. */
export const noMoves = (): Moves => ({ every: undefined, get: undefined })

/** 301 and 308 are permanent, the others temporary. The first three may turn a POST into a GET. */
const isPermanent = (status: number): boolean => status === 301 || status === 308
const keepsMethod = (status: number): boolean => status === 307 || status === 308
const isRedirect = (status: number): boolean => keepsMethod(status) || (status >= 301 && status <= 303)

const shown = (location: string, base: URL): string => {
  if (!URL.canParse(location, base.href)) {
    return JSON.stringify(location.replace(/[?#].*/s, "").slice(0, shownCharacters))
  }
  const url = new URL(location, base)
  return (url.host === "" ? url.protocol : ServerAddress.shown(url)).slice(0, shownCharacters)
}

const problemOf = (method: Method, from: URL, { header, status }: HttpCall.Answer, followed: number) => {
  const location = header("location")
  if (location === undefined) return "the redirect has no Location"
  const named = `the redirect to Location ${shown(location, from)} is not followed`
  if (method !== "GET" && !keepsMethod(status)) return `${named}: with this status, only a GET is redirected`
  if (!URL.canParse(location, from.href)) return `${named}: it is no URL`
  if (new URL(location, from).origin !== from.origin) {
    return `${named}: it is not at ${from.origin}; set \`url\` to it if that server may have the headers`
  }
  return followed < limit ? undefined : `${named}: the server has redirected the request ${limit} times before`
}

/** `fetch` takes no URL with credentials, and the program says which it has. */
const targetOf = (location: string, from: URL): URL => {
  const url = new URL(location, from)
  url.username = ""
  url.password = ""
  return url
}

/** The URL of one endpoint, as one connection knows it. */
export class Location {
  readonly #given: URL
  readonly #permanent: Moves
  #temporary = noMoves()

  constructor(given: URL, permanent: Moves) {
    this.#given = given
    this.#permanent = permanent
  }

  /** Where requests of this method go. */
  of(method: Method): URL {
    const [temporary, permanent] = [this.#temporary, this.#permanent]
    return (method === "GET" ? temporary.get ?? permanent.get : undefined) ??
      temporary.every ?? permanent.every ?? this.#given
  }

  /** Forgets the temporary redirects. They were found for a session that is lost. */
  reset(): void {
    this.#temporary = noMoves()
  }

  #move(method: Method, url: URL, isPermanent: boolean): void {
    const member = method === "GET" ? "get" : "every"
    this.#temporary[member] = url
    if (isPermanent) this.#permanent[member] = url
  }

  /**
   * Makes a request, and makes it again wherever the server redirects it. Moves that led to an accepted answer are
   * kept.
   */
  follow(method: Method, request: (url: URL) => Called): Called {
    const begin = this.of(method)
    return Effect.flatMap(
      request(begin),
      (answer) => isRedirect(answer.status) ? this.#followOn(method, request, begin, answer) : Effect.succeed(answer)
    )
  }

  #followOn(method: Method, request: (url: URL) => Called, begin: URL, redirect: HttpCall.Answer): Called {
    return Effect.gen({ self: this }, function*() {
      let url = begin
      let answer = redirect
      // Where a temporary move leads to is not where the first URL has moved for good.
      let permanent = url === this.#given || url === this.#permanent.every || url === this.#permanent.get
      for (let followed = 0; isRedirect(answer.status); followed++) {
        const { status } = answer
        yield* ResponseBody.discard(answer)
        const problem = problemOf(method, url, answer, followed)
        if (problem !== undefined) {
          return yield* TransportError.make({ _tag: "Rejected", status, problem, retryAfterMillis: undefined })
        }
        permanent &&= isPermanent(status)
        url = targetOf(answer.header("location") ?? "", url)
        answer = yield* request(url)
      }
      if (HttpCall.isAccepted(answer)) this.#move(method, url, permanent)
      return answer
    })
  }
}
