/** A program that calls the server for an account, with tokens in a store that other processes share. */
import { OAuth, type UserAgent } from "@effect-mcp/auth"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import type * as TokenStore from "@effect-mcp/auth/TokenStore"
import * as TokenStoreSql from "@effect-mcp/auth/TokenStoreSql"
import { ClientSession, Transport } from "@effect-mcp/session"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import { ClientAuthorization } from "@effect-mcp/transport"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as path from "node:path"
import { transportOf } from "../subjects/transportOf.ts"
import { unexpected } from "../Unexpected.ts"
import { clientId } from "./Issuer.ts"

/** The kinds of stores. */
export const kinds = ["files", "sqlite"] as const

/** A kind of store. */
export type Kind = typeof kinds[number]

/** The revision of the sessions of accounts whose tokens are in a store of this kind. */
const revisions = { files: ["2026-07-28"], sqlite: ["2025-11-25"] } as const

/** The places of a soak, which all processes know. */
export interface Places {
  readonly folder: string
  readonly issuer: string
  readonly server: string
}

/** The stores, with a connection for this process. */
export type Stores = Readonly<Record<Kind, TokenStore.TokenStore["Service"]>>

const encryption = { key: Redacted.make(new Uint8Array(32).fill(7)) }

/** Opens the stores. */
export const openStores = Effect.fnUntraced(function*(
  folder: string
): Effect.fn.Return<Stores, unknown, Scope.Scope> {
  const sqlite = yield* Layer.build(NodeSqlite.layer({ filename: path.join(folder, "tokens.sqlite") }))
  return {
    files: NodeTokenStore.make({ directory: path.join(folder, "tokens"), encryption }),
    sqlite: yield* Effect.provide(TokenStoreSql.make(), sqlite)
  }
})

/** The settings of a program. */
export interface Settings {
  readonly places: Places
  readonly stores: Stores
  readonly kind: Kind
  readonly account: string
  /** Default: none, so that a call that needs a person fails. */
  readonly userAgent?: UserAgent.UserAgent | undefined
}

/** Builds the authorization of a program. */
export const authorize = ({ account, kind, places: { issuer }, stores, userAgent }: Settings) =>
  Layer.build(Layer.fresh(OAuth.layer({
    account,
    store: stores[kind],
    identity: { preRegistered: [{ clientId, issuer }] },
    userAgent
  })))

/** The calls of a program. */
export interface Calls {
  /** Ends them after those in flight, and returns their number. Fails if one of them has failed. */
  readonly end: Effect.Effect<number, unknown>
}

/** The time between two calls, in milliseconds. */
const shortest = 300
const longest = 1300

/** Opens a session, and calls the server again and again. */
export const call = Effect.fnUntraced(function*(
  { kind, places: { server } }: Settings,
  oauth: Context.Context<ClientAuthorization.ClientAuthorization | OAuth.OAuth>,
  onSession: (session: object) => void
): Effect.fn.Return<Calls, unknown, Scope.Scope> {
  const authorization = Context.get(oauth, ClientAuthorization.ClientAuthorization)
  const transport = yield* transportOf(
    StreamableHttpClient.layerNode({ url: server, closeTimeout: "20 seconds" }).pipe(
      Layer.provide(Layer.succeed(ClientAuthorization.ClientAuthorization, authorization))
    )
  )
  const session = yield* ClientSession.make({ info: { name: "soak", version: "1.0.0" }, revisions: revisions[kind] })
    .pipe(Effect.provideService(Transport.Transport, transport))
  onSession(session)
  let isEnding = false
  let calls = 0
  const calling = Effect.gen(function*() {
    while (!isEnding) {
      const { structuredContent } = yield* session.callTool("echo", { value: calls })
      if (JSON.stringify(structuredContent) !== JSON.stringify({ value: calls })) {
        return yield* unexpected(`call ${calls} returned ${JSON.stringify(structuredContent)}`)
      }
      calls++
      yield* Effect.sleep(shortest + (longest - shortest) * Math.random())
    }
  })
  const fiber = yield* Effect.forkScoped(Effect.exit(calling))
  return {
    end: Effect.suspend(() => {
      isEnding = true
      return Effect.flatMap(Fiber.join(fiber), (exit) => Effect.as(exit, calls))
    })
  }
})
