/**
 * The world of a simulation of credentials: its clock, its issuers, the protected server, the person, and the token
 * store that all processes share.
 */
import { TokenStore } from "@effect-mcp/auth"
import { VirtualRuntime } from "@effect-mcp/testing"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type { Event, WorldEvent } from "./History.ts"
import { type Answer, ModelIssuer } from "./ModelIssuer.ts"
import type { Command, Script } from "./Script.ts"

/** The URL of the protected server, which is its resource as well. */
export const server = "https://notes.example/mcp"

/** An origin that is not the server's. */
export const elsewhere = "https://elsewhere.example/mcp"

const metadataUrl = "https://notes.example/.well-known/oauth-protected-resource/mcp"

/** The longest time of an undisturbed request, in each direction, in milliseconds. */
const latencyMillis = 15

export type IssuerFault = Extract<Command, { readonly _tag: "Issuer" }>["fault"]

type StoreCommand = Extract<Command, { readonly _tag: "Store" }>

/** A request, as far as the servers of the world need it. */
export interface Request {
  readonly url: URL
  readonly authorization: string | undefined
  readonly body: string
}

/** A response of a server of the world. */
export interface Response extends Answer {
  readonly headers?: Readonly<Record<string, string>>
}

export class World {
  readonly runtime: VirtualRuntime.VirtualRuntime
  readonly events: Array<Event> = []
  readonly secrets = new Set<string>()
  /** The origin that each secret is for. */
  readonly owners = new Map<string, string>()
  readonly issuers: ReadonlyArray<ModelIssuer>
  readonly store: TokenStore.TokenStore["Service"]
  readonly storeMillis: number
  person: Extract<Command, { readonly _tag: "Person" }>["answer"] = "Approves"
  issuerFault: IssuerFault | undefined = undefined
  storeFault: Pick<StoreCommand, "fault" | "kind"> & { operations: number } | undefined = undefined
  #issuer = 0
  #requests = 0
  #acts = 0
  readonly #context: Context.Context<never>

  constructor({ interleaving, rotation, seed, storeMillis }: Script) {
    this.runtime = VirtualRuntime.make({ interleaving, seed })
    this.storeMillis = storeMillis
    this.issuers = ["https://one.example", "https://two.example"].map((url) =>
      new ModelIssuer(url, rotation, this.secrets, this.owners)
    )
    this.#context = this.#now(Effect.context<never>())
    this.store = this.#now(TokenStore.makeMemory())
  }

  /** The issuer that the server names now. */
  get issuer(): ModelIssuer {
    const [first, second] = this.issuers
    const issuer = this.#issuer === 0 ? first : second
    if (issuer === undefined) throw new Error("the world has two issuers")
    return issuer
  }

  /** Returns the fault of the next token request, which has no other one then. */
  takeIssuerFault(): IssuerFault | undefined {
    const fault = this.issuerFault
    this.issuerFault = undefined
    return fault
  }

  /** Returns the fault of the next operation of the store. */
  takeStoreFault(operation: string): StoreCommand["fault"] | undefined {
    const next = this.storeFault
    if (next === undefined || (next.kind === "write" && operation !== "write")) return undefined
    return next.operations-- <= 0 ? undefined : next.fault
  }

  migrate(): void {
    this.#issuer = 1 - this.#issuer
    this.record({ _tag: "Migrated" })
  }

  record(event: WorldEvent): void {
    this.events.push({ at: this.runtime.now(), ...event })
  }

  nextRequest(): number {
    return ++this.#requests
  }

  nextAct(): number {
    return ++this.#acts
  }

  /** Waits for as long as a message takes. */
  readonly latency: Effect.Effect<void> = Effect.flatMap(
    Random.nextIntBetween(0, latencyMillis),
    (millis) => Effect.sleep(millis)
  )

  /** Waits for as long as the store takes. */
  get storeLatency(): Effect.Effect<void> {
    return this.storeMillis === 0
      ? Effect.void
      : Effect.flatMap(Random.nextIntBetween(0, this.storeMillis), (millis) => Effect.sleep(millis))
  }

  /** Starts an effect that belongs to no process: it goes on after the end of the one that has caused it. */
  detach(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.sync(() => void Effect.runForkWith(this.#context)(effect))
  }

  /** Runs an effect that takes no time. */
  #now<A>(effect: Effect.Effect<A>): A {
    const exit = this.runtime.start(effect).pollUnsafe()
    if (exit === undefined || Exit.isFailure(exit)) throw new Error("the effect takes time, or fails")
    return exit.value
  }

  /** Runs an effect of the store that takes no time. */
  stored<A>(effect: Effect.Effect<A, TokenStore.TokenStoreError>): A {
    return this.#now(Effect.orDie(effect))
  }

  /** Answers a request. `request` is the number of a token request. */
  answer({ authorization, body, url }: Request, request: number): Response {
    const issuer = this.issuers.find((one) => one.url === url.origin)
    if (issuer !== undefined) return this.#answerOf(issuer, url, authorization, new URLSearchParams(body), request)
    if (url.href === metadataUrl) {
      const json = { resource: server, authorization_servers: [this.issuer.url], scopes_supported: ["read"] }
      return { status: 200, json }
    }
    return url.href === server ? this.#protected(authorization, body) : { status: 404, json: {} }
  }

  #answerOf(
    issuer: ModelIssuer,
    { pathname }: URL,
    authorization: string | undefined,
    form: URLSearchParams,
    request: number
  ): Response {
    switch (pathname) {
      case "/.well-known/oauth-authorization-server":
        return { status: 200, json: issuer.metadata }
      case "/register":
        return issuer.register()
      case "/token":
        return issuer.token(form, authorization, this.runtime.now(), {
          rotated: (refreshToken) => this.record({ _tag: "Rotated", refreshToken, request }),
          rejected: (refreshToken) => this.record({ _tag: "Rejected", refreshToken })
        })
      case "/revoke":
        return issuer.revoke(form)
      default:
        return { status: 404, json: {} }
    }
  }

  #protected(authorization: string | undefined, operation: string): Response {
    const token = /^Bearer (.+)$/.exec(authorization ?? "")?.[1] ?? ""
    const scopes = this.issuer.scopesOf(token, server, this.runtime.now())
    const metadata = `resource_metadata="${metadataUrl}"`
    if (scopes === undefined) {
      return { status: 401, json: {}, headers: { "www-authenticate": `Bearer scope="read", ${metadata}` } }
    }
    if (scopes.includes(operation)) return { status: 200, json: {} }
    const challenge = `Bearer error="insufficient_scope", scope="${operation}", ${metadata}`
    return { status: 403, json: {}, headers: { "www-authenticate": challenge } }
  }
}
