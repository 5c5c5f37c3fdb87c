/** The connection of a Streamable HTTP client: one session, its exchanges and its standalone SSE stream. */
import { JsonRpc, type Profile } from "@effect-mcp/protocol"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { forkInScope } from "../../../shared/forkInScope.ts"
import * as HttpCall from "../HttpCall.ts"
import * as McpEndpoint from "../McpEndpoint.ts"
import * as ClientState from "./ClientState.ts"
import { Exchange } from "./Exchange.ts"
import { ModernCall, versionOf } from "./ModernCall.ts"
import { Repetitions } from "./Repetitions.ts"
import * as SessionCleanup from "./SessionCleanup.ts"
import { SessionRenewal } from "./SessionRenewal.ts"
import { StandaloneStream } from "./StandaloneStream.ts"

/** The settings of a client. */
export interface Settings extends McpEndpoint.Settings, ClientState.Settings {
  readonly standalone: boolean
  readonly closeTimeout: Duration.Input
}

/** Creates the transport, which opens a connection for each session. */
export const make = (
  settings: Settings
): Effect.Effect<Transport.Transport["Service"], never, HttpCall.Client> =>
  Effect.map(HttpCall.make, (call) => ({
    connect: Effect.flatMap(McpEndpoint.make(call, settings), (endpoint) => open(settings, endpoint))
  }))

const open = Effect.fnUntraced(function*(
  settings: Settings,
  endpoint: McpEndpoint.McpEndpoint
): Effect.fn.Return<Transport.Connection, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const state = new ClientState.ClientState(endpoint, settings, yield* ClientState.sessionIdentity(undefined, false))
  const sessions = SessionCleanup.make(
    (session) => endpoint.remove({ session, revision: state.revision }),
    settings.closeTimeout
  )
  const { renew } = new SessionRenewal(state, sessions, scope, Effect.suspend(() => standalone.start))
  const standalone = settings.standalone ? new StandaloneStream(state, renew, scope) : { start: Effect.void }
  const repetitions = new Repetitions(state, scope, yield* MemoryBudget)
  const exchange = new Exchange({ state, sessions, renew, standalone, repetitions, scope })
  const modern = new ModernCall(state)
  const inScope = forkInScope(scope)

  // Finalizers run in reverse: the fibers that are forked into the scope later end before the sessions do.
  yield* Scope.addFinalizer(scope, sessions.end)

  const request = (message: JsonRpc.Request) => {
    const version = versionOf(message)
    return inScope(version === undefined ? exchange.request(message) : modern.request(message, version))
  }
  return {
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        state.subscribe(deliver, hooks?.report)
        return state.failed
      }).pipe(Effect.ensuring(Effect.sync(() => state.unsubscribe()))),
    send: ({ message }) => JsonRpc.isRequest(message) ? request(message) : inScope(exchange.send(message)),
    request,
    hasAuthorization: settings.authorization !== undefined,
    onHandshake: (profile: Profile.Profile) => {
      state.revision = profile.revision
    }
  }
})
