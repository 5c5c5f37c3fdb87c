/** The limits of the logs that the server of one client can cause. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { LogLimit } from "./LogLimit.ts"

/** The limits of one client. */
export interface ServerLogsShape {
  /** The log messages of the server. */
  readonly messages: LogLimit
  /** The questions whose answers are not sent. */
  readonly answers: LogLimit
}

const limited = (burst: number, perSecond: number, what: string): LogLimit =>
  new LogLimit(
    { burst, perSecond },
    (leftOut) =>
      Effect.logWarning(`left ${leftOut} ${what} out of the log, because more than ${perSecond} per second arrived`)
  )

/** Returns the limits of a new client. */
export const make = (): ServerLogsShape => ({
  messages: limited(100, 50, "messages of the server"),
  answers: limited(10, 1, "errors of answers to the server")
})

/** The limits of the client whose handler runs. Absent in a handler of another session: it has no limit. */
export const ServerLogs: Context.Reference<ServerLogsShape | undefined> = Context.Reference<
  ServerLogsShape | undefined
>("@effect-mcp/client/ServerLogs", { defaultValue: () => undefined })

/** Runs an effect that logs, if the client whose handler runs has room for it. */
export const within = (kind: keyof ServerLogsShape, log: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(ServerLogs, (logs) => logs === undefined ? log : logs[kind].within(log))
