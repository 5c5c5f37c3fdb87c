/** The settings of a WebSocket client, from its options. */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as WebSocketSettings from "../WebSocketSettings.ts"
import type { Settings } from "./WebSocketClientConnection.ts"

/** The options of every client. `WebSocketClient.Options` describes them. */
export interface ClientOptions {
  readonly url: string | URL
  readonly maxMessageBytes?: number | undefined
  readonly maxMessageNodes?: number | undefined
  readonly connectTimeout?: Duration.Input | undefined
  readonly closeTimeout?: Duration.Input | undefined
}

/** The rules of the options of every client. */
export const rules: NumericOption.Rules<ClientOptions> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  connectTimeout: NumericOption.duration,
  closeTimeout: NumericOption.duration
}

/** Returns the settings of every client. */
export const settings = (options: ClientOptions): Settings => {
  NumericOption.check(options, rules)
  return {
    url: options.url,
    limits: WebSocketSettings.messageLimits(options),
    connectMillis: Duration.toMillis(options.connectTimeout ?? "10 seconds"),
    closeMillis: Duration.toMillis(options.closeTimeout ?? "2 seconds")
  }
}
