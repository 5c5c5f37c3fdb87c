/** The network of a simulated process: its HTTP client, and the record of the secrets that it sends. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import { HttpClientError, TransportError } from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { ProcessEvent, TokenRequest } from "./History.ts"
import type { Lifeline } from "./Lifeline.ts"
import { credentialsIn } from "./ModelIssuer.ts"
import type { IssuerFault, Request, Response, World } from "./World.ts"

type Record = (event: ProcessEvent) => void

/** The time that a late request takes to arrive, in milliseconds: longer than the client waits. */
const lateMillis = 14_000

const slowMillis = 4000

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** Returns the secrets in a request. A verifier is one that the client generates. */
const secretsIn = ({ authorization, body }: Request, world: World): ReadonlyArray<string> => {
  const form = new URLSearchParams(body)
  const verifier = form.get("code_verifier")
  if (verifier !== null) world.secrets.add(verifier)
  const bearer = /^Bearer (.+)$/.exec(authorization ?? "")?.[1]
  return [
    ...["refresh_token", "code", "token", "client_secret"].map((name) => form.get(name)),
    credentialsIn(authorization)[1],
    bearer
  ].flatMap((secret) => secret != null && world.owners.has(secret) ? [secret] : [])
}

/** Records the secrets of a request that is sent. */
export const present = (world: World, record: Record, request: Request): void => {
  for (const secret of secretsIn(request, world)) {
    record({ _tag: "Presented", secret, owner: world.owners.get(secret) ?? "", origin: request.url.origin })
  }
}

const tokenRequestOf = (world: World, { body, url }: Request): TokenRequest | undefined => {
  if (url.pathname !== "/token") return undefined
  const form = new URLSearchParams(body)
  return {
    id: world.nextRequest(),
    issuer: url.origin,
    grant: form.get("grant_type") ?? "",
    presented: form.get("refresh_token") ?? form.get("code") ?? ""
  }
}

const outage: Response = { status: 503, json: {} }

/** The outcome of a request that has been sent. */
type Arrival = Response | "Broken"

/** Carries a request to its server and the response back. It goes on if the process does not wait. */
const carried = (
  world: World,
  request: Request,
  id: number,
  fault: IssuerFault | undefined,
  arrived: Deferred.Deferred<Arrival>
): Effect.Effect<void> =>
  Effect.gen(function*() {
    yield* world.latency
    if (fault === "Late") yield* Effect.sleep(lateMillis)
    const response = fault === "Unreachable" ? "Broken" : fault === "Outage" ? outage : world.answer(request, id)
    if (fault === "Slow") yield* Effect.sleep(slowMillis)
    yield* world.latency
    if (fault !== "Silent") yield* Deferred.succeed(arrived, fault === "Lost" ? "Broken" : response)
  })

/** Sends a request, and returns its response. The error of a broken connection has the request in its message. */
const sent = (
  world: World,
  lifeline: Lifeline,
  record: Record,
  request: Request
): Effect.Effect<Response, Error> =>
  lifeline.operation(Effect.suspend(() => {
    const token = tokenRequestOf(world, request)
    const fault = token === undefined ? undefined : world.takeIssuerFault()
    const arrived = Deferred.makeUnsafe<Arrival>()
    present(world, record, request)
    if (token !== undefined) record({ _tag: "TokenRequested", request: token })
    const exchanged = Effect.andThen(
      world.detach(carried(world, request, token?.id ?? 0, fault, arrived)),
      Effect.flatMap(
        Deferred.await(arrived),
        (arrival): Effect.Effect<Response, Error> =>
          arrival === "Broken"
            ? Effect.fail(new Error(`the connection broke: ${request.authorization} ${request.body}`))
            : Effect.succeed(arrival)
      )
    )
    if (token === undefined) return exchanged
    return Effect.onExit(exchanged, (exit) =>
      Effect.sync(() =>
        record({ _tag: exit._tag === "Success" ? "TokenReceived" : "TokenLost", request: token })
      ))
  }))

/** Makes the HTTP client of a process. */
export const makeClient = (world: World, lifeline: Lifeline, record: Record): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    sent(world, lifeline, record, { url, authorization: request.headers["authorization"], body: bodyOf(request) }).pipe(
      Effect.mapError((cause) => new HttpClientError({ reason: new TransportError({ request, cause }) })),
      Effect.map(({ json, status }) =>
        HttpClientResponse.fromWeb(
          request,
          new globalThis.Response(JSON.stringify(json), { status, headers: { "content-type": "application/json" } })
        )
      )
    )
  )

/** Sends a request to the protected server. */
export const call = (
  world: World,
  lifeline: Lifeline,
  record: Record,
  request: Request
): Effect.Effect<Response> => Effect.orDie(sent(world, lifeline, record, request))
