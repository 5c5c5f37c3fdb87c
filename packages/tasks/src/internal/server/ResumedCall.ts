/** The call of a task that another process has begun, as its handler sees it. */

import * as Principal from "@effect-mcp/session/Principal"
import type { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type * as StoredTask from "../../StoredTask.ts"
import { trust } from "../trust.ts"

type Service = RequestContext["Service"]

/** The members of a call that a task reads. */
export type TaskCall = Pick<
  Service,
  "id" | "lacksScopes" | "log" | "meta" | "method" | "parameterHeaders" | "principal" | "profile" | "session"
>

/** Returns the call of a stored task. It has no session, and no headers. */
export const make = (
  { id, principal, request: { method, params } }: StoredTask.StoredTask,
  { claims, profile, scopes }: StoredTask.TaskResumption
): TaskCall => ({
  id,
  method,
  // The metadata was checked before the task was stored.
  meta: trust<Service["meta"]>(params?.["_meta"]),
  principal: principal === undefined ? undefined : {
    id: principal,
    ...(claims === undefined ? undefined : { claims }),
    ...(scopes === undefined ? undefined : { scopes })
  },
  lacksScopes: (wanted) =>
    (principal !== undefined || scopes !== undefined) && !Principal.hasScopes({ id: principal ?? "", scopes }, wanted),
  session: undefined,
  profile,
  parameterHeaders: undefined,
  // No client hears it: the log messages of an extension task are dropped.
  log: () => Effect.void
})

/** A scope that no client has. */
const unknownScope = [""]

/** Returns what another process needs to run the task of a call again. */
export const resumptionOf = (
  { lacksScopes, principal, profile }: Pick<TaskCall, "lacksScopes" | "principal" | "profile">
): Pick<StoredTask.TaskResumption, "claims" | "profile" | "scopes"> => ({
  profile,
  claims: principal?.claims,
  scopes: principal === undefined && lacksScopes(unknownScope) ? [] : principal?.scopes
})
