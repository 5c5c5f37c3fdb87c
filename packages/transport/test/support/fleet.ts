/** Several processes of one server in one program, each with a listener of its own, whose stores are shared. */
import { EventStore, SessionOwners, SessionStore } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { Client } from "./httpClient.ts"
import { serve, type ServerHandlers, type Settings } from "./server.ts"

/** The stores that the processes share. */
export const makeStores = Effect.gen(function*() {
  return {
    store: yield* EventStore.makeMemory(),
    sessionStore: yield* SessionStore.makeMemory(),
    ownerStore: yield* SessionOwners.makeStoreInMemory
  }
})

export type Stores = Effect.Success<typeof makeStores>

/** A process of a fleet. */
export type Process = Effect.Success<ReturnType<typeof startProcess>>

/** Starts a process, and waits until it has its lease. */
export const startProcess = Effect.fnUntraced(function*(
  { ownerStore, sessionStore, store }: Stores,
  handlers: ServerHandlers,
  settings: Settings & { readonly leaseTime?: SessionOwners.Options["leaseTime"]; readonly address?: string } = {}
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const { address, leaseTime = "1 second", ...rest } = settings
  const owners = yield* SessionOwners.make(ownerStore, { leaseTime, ...address === undefined ? {} : { address } }).pipe(
    Scope.provide(scope)
  )
  const server = yield* Scope.provide(serve(handlers, { store, sessionStore, owners, ...rest }), scope)
  yield* owners.awaitLease
  return { ...server, owners, stop: Scope.close(scope, Exit.void) }
})

/** Returns the same client at another server. */
export const clientAt = (
  server: { readonly port: number },
  { headers, id, scope }: Client,
  more: Readonly<Record<string, string>> = {}
): Client => new Client(server, id, { ...headers, ...more }, scope)
