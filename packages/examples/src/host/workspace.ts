/**
 * The roots of a host: the directories and files that servers may use.
 */
import type * as Roots from "@effect-mcp/protocol/Roots"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

/** The current roots. */
export class Workspace
  extends Context.Service<Workspace, Ref.Ref<ReadonlyArray<Roots.Root>>>()("@effect-mcp/examples/host/Workspace")
{}

export const layer = (...roots: ReadonlyArray<Roots.Root>): Layer.Layer<Workspace> =>
  Layer.effect(Workspace, Ref.make(roots))

/** Replaces the roots, and notifies the server (ROOT-02). */
export const setRoots = Effect.fnUntraced(function*(...roots: ReadonlyArray<Roots.Root>) {
  yield* Ref.set(yield* Workspace, roots)
  const session = yield* ClientSession.ClientSession
  yield* session.rootsListChanged
})
