/** The session host of subjects whose server has one. */
import { CloseReason } from "@effect-mcp/protocol"
import { type HostLimits, type Limits, SessionHost } from "@effect-mcp/session"
import { LawServer } from "@effect-mcp/testing/laws"
import * as Effect from "effect/Effect"
import type { Counts, Lifetime, ServerSide } from "./Subject.ts"
import { type Unexpected, unexpected } from "./Unexpected.ts"

/** Limits with a short wait for handlers, because some never return. */
export const limits: Limits.Options = { gracefulTimeout: "200 millis" }

const hostLimits = {
  unlimited: {},
  shortIdle: { idleTimeout: "5 seconds" },
  shortAge: { maxAge: "5 seconds" }
} as const satisfies Readonly<Record<Lifetime, HostLimits.Options>>

/** Returns the options of a host for this lifetime. */
export const options = (lifetime: Lifetime): SessionHost.Options => ({
  ...LawServer.options,
  limits: lifetime === "shortIdle" ? { ...limits, initializeTimeout: "5 seconds" } : limits,
  sessions: hostLimits[lifetime]
})

/** Creates a host that serves the tools of the laws. */
export const layer = (lifetime: Lifetime) => SessionHost.layer(LawServer.make(), options(lifetime))

/** Returns the server's side of a hosted session. */
export const serverSideOf = (hosted: SessionHost.Hosted): ServerSide => ({
  closed: Effect.map(hosted.session.closed, ({ _tag }) => _tag),
  close: hosted.close(CloseReason.requested)
})

/** Returns the session of a client. */
export const serverSide = (host: SessionHost.SessionHostShape, client: string): Effect.Effect<ServerSide, Unexpected> =>
  Effect.flatMap(host.sessions, (sessions) => {
    const listing = sessions.find((one) => one.client?.name === client)
    const hosted = listing === undefined ? undefined : host.find(listing.id)
    return hosted === undefined
      ? Effect.fail(unexpected(`the host has no session of client ${client}`))
      : Effect.succeed(serverSideOf(hosted))
  })

/** Returns the sizes of a host's tables. */
export const tables = (host: SessionHost.SessionHostShape): Effect.Effect<Counts> =>
  Effect.map(host.health, ({ sessions }) => ({ sessions }))
