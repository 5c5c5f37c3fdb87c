/** The checks and defaults of `HttpServerOptions`. */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import type { AccessOptions, ListenOptions, Options } from "../../../HttpServerOptions.ts"
import * as FrameText from "../../shared/FrameText.ts"
import * as InitializeRequest from "../../shared/InitializeRequest.ts"

/** The rules for the numbers and durations of `HttpServerOptions.AccessOptions`. */
export const accessRules: NumericOption.Rules<AccessOptions> = { identifyTimeout: NumericOption.duration }

/** The rules for the numbers and durations of `HttpServerOptions.Options`. */
export const rules: NumericOption.Rules<Options> = {
  ...accessRules,
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  bodyTimeout: NumericOption.duration,
  maxTotalIncomingBytes: NumericOption.count,
  maxInitializeBytes: NumericOption.count,
  maxPipelinedRequests: NumericOption.count,
  maxUnreadBytes: NumericOption.count,
  maxTotalUnreadBytes: NumericOption.count,
  maxStreamCharacters: NumericOption.countFromZero,
  keepAliveInterval: NumericOption.interval,
  writeTimeout: NumericOption.duration
}

/** The rules for the numbers of `HttpServerOptions.ListenOptions`. */
export const listenRules: NumericOption.Rules<ListenOptions> = { port: NumericOption.port }

/** The options of a server with their defaults, durations in milliseconds. */
export interface HttpServerSettings {
  readonly allowedHosts: ReadonlyArray<string> | undefined
  readonly allowedOrigins: ReadonlyArray<string>
  readonly identifyMillis: number
  readonly maxMessageBytes: number
  readonly maxMessageNodes: number
  readonly bodyMillis: number
  readonly maxTotalIncomingBytes: number
  readonly maxInitializeBytes: number
  readonly maxPipelinedRequests: number
  readonly maxUnreadBytes: number
  readonly maxTotalUnreadBytes: number
  readonly maxStreamCharacters: number
  readonly keepAliveMillis: number
  readonly stallMillis: number
}

const mebibyte = 1024 * 1024

/** Fills in the defaults of options that are checked. */
export const make = (options: Options): HttpServerSettings => ({
  allowedHosts: options.allowedHosts,
  allowedOrigins: options.allowedOrigins ?? [],
  identifyMillis: Duration.toMillis(options.identifyTimeout ?? "10 seconds"),
  maxMessageBytes: options.maxMessageBytes ?? 4 * mebibyte,
  maxMessageNodes: options.maxMessageNodes ?? FrameText.defaultMaxNodes,
  bodyMillis: Duration.toMillis(options.bodyTimeout ?? "1 minute"),
  maxTotalIncomingBytes: options.maxTotalIncomingBytes ?? 64 * mebibyte,
  maxInitializeBytes: options.maxInitializeBytes ?? InitializeRequest.defaultMaxBytes,
  maxPipelinedRequests: options.maxPipelinedRequests ?? 8,
  maxUnreadBytes: options.maxUnreadBytes ?? 4 * mebibyte,
  maxTotalUnreadBytes: options.maxTotalUnreadBytes ?? 128 * mebibyte,
  maxStreamCharacters: options.maxStreamCharacters ?? mebibyte,
  keepAliveMillis: Duration.toMillis(options.keepAliveInterval ?? "15 seconds"),
  stallMillis: Duration.toMillis(options.writeTimeout ?? "20 seconds")
})
