/** Requests of a revision without a handshake: each carries its revision, and the client that sends it. */

import {
  type Capabilities,
  ErrorCode,
  type JsonRpc,
  type Logging,
  McpError,
  type Profile,
  RequestMetadata,
  Revision
} from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Result from "effect/Result"

/** The client of one request, as its metadata describes it. */
export interface ModernClient {
  readonly profile: Profile.ClientProfile
  /** The least severe log messages to send for the request; none without one (LOG-07). */
  readonly logLevel: Logging.Level | undefined
}

const errorObject = ({ code, data, message }: McpError.McpError): JsonRpc.ErrorObject =>
  data === undefined ? { code, message } : { code, message, data }

/** Reads the metadata of a request. Fails with the error that rejects the request (VER-03, VER-07). */
export const clientOf = (
  { method, params }: JsonRpc.Request,
  supported: ReadonlyArray<string>
): Result.Result<ModernClient, JsonRpc.ErrorObject> => {
  const read = RequestMetadata.read(params?.["_meta"])
  if (Result.isFailure(read)) {
    return Result.fail({
      code: ErrorCode.InvalidParams,
      message: `Invalid metadata of ${Excerpt.of(method)}: ${read.failure}`
    })
  }
  const { clientCapabilities, clientInfo, logLevel, protocolVersion } = read.success
  if (!Revision.isModern(protocolVersion) || !supported.includes(protocolVersion)) {
    const error = errorObject(McpError.unsupportedVersion(protocolVersion, supported))
    // The error has this revision among those that are served.
    const isServedInSessions = Revision.isLegacy(protocolVersion) && supported.includes(protocolVersion)
    return Result.fail(
      isServedInSessions
        ? { ...error, message: `${error.message}, which has a handshake: send initialize, and no revision in _meta` }
        : error
    )
  }
  return Result.succeed({
    profile: { revision: protocolVersion, capabilities: clientCapabilities, info: clientInfo },
    logLevel
  })
}

/**
 * Returns the capabilities of a server for its clients. Changes of lists and of resources arrive on streams of
 * notifications, so a server declares them if it serves such streams.
 */
export const discovered = (
  { prompts, resources, tools, ...others }: Capabilities.ServerCapabilities,
  hasStreams: boolean
): Capabilities.ServerCapabilities => {
  const changes = hasStreams ? { listChanged: true } : {}
  return {
    ...others,
    ...(prompts === undefined ? undefined : { prompts: changes }),
    ...(resources === undefined ? undefined : { resources: hasStreams ? { subscribe: true, ...changes } : {} }),
    ...(tools === undefined ? undefined : { tools: changes })
  }
}
