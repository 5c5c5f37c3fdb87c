/** The owners of sessions over the store of a bundle. */
import { defaultLeaseTime, NumericOption } from "@effect-mcp/session/internal"
import * as SessionOwners from "@effect-mcp/session/SessionOwners"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The options of a bundle that are about owners. */
export interface Options<R> {
  /** The address and the lease of this process. */
  readonly owners?: SessionOwners.Options
  /**
   * Wraps the store of owners, to decide further which processes may own sessions: `EffectCluster.membership` asks the
   * registry of a cluster. Default: every process that renews its lease may.
   */
  readonly membership?: (
    store: SessionOwners.OwnerStore
  ) => Effect.Effect<SessionOwners.OwnerStore, never, R>
}

const settings: NumericOption.Settings<SessionOwners.Options> = {
  leaseTime: [NumericOption.interval, defaultLeaseTime]
}

/** Returns the time of a lease in milliseconds. */
export const leaseMillisOf = ({ owners }: Pick<Options<never>, "owners">): number =>
  NumericOption.resolve(owners ?? {}, settings, "owners.").leaseTime

/** Provides the owners of sessions over a store. */
export const layer = <R>(
  store: SessionOwners.OwnerStore,
  { membership, owners }: Options<R>
): Layer.Layer<SessionOwners.SessionOwners, never, R> =>
  membership === undefined
    ? SessionOwners.layer(store, owners)
    : Layer.unwrap(Effect.map(membership(store), (wrapped) => SessionOwners.layer(wrapped, owners)))
