/** The steps of `Authentication.useOnce` that wait until it is decided which process carries a request out. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The steps of one request. */
export interface DeferredUses {
  /** Keeps a step for later. */
  readonly add: (use: Effect.Effect<void, unknown>) => void
}

/** Takes the steps of a request. Without it, each step runs at once. */
export const DeferredUses: Context.Reference<DeferredUses | undefined> = Context.Reference(
  "@effect-mcp/transport/DeferredUses",
  { defaultValue: (): DeferredUses | undefined => undefined }
)
