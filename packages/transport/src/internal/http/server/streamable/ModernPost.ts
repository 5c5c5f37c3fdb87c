/** POSTs of a revision without a handshake, whose headers repeat parts of the body. */
import { ErrorCode, JsonRpc, McpError, RequestHeaders, RequestMetadata, Revision } from "@effect-mcp/protocol"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Result from "effect/Result"
import * as HttpResponses from "../HttpResponses.ts"

type Headers = HttpServerRequest["headers"]

const metaOf = (message: JsonRpc.Classified): unknown =>
  message._tag === "Request" || message._tag === "Notification" ? message.message.params?.["_meta"] : undefined

/** Returns whether the header of a message names a revision without a handshake, or its metadata names any revision. */
export const isModern = (headers: Headers, message: JsonRpc.Classified): boolean => {
  const declared = headers[RequestHeaders.names.version]
  return RequestMetadata.isIn(metaOf(message)) || (declared !== undefined && Revision.isModern(declared))
}

const rejectedWith = (id: JsonRpc.Request["id"], error: McpError.McpError): HttpServerResponse =>
  HttpResponses.json(400, JSON.stringify(JsonRpc.failure(id, error)), {})

/**
 * Returns the rejection of a request whose headers differ from its body (SHE-12, SHE-17), or name a revision that is
 * not among those of the server (SHE-13).
 */
export const rejection = (
  headers: Headers,
  message: JsonRpc.Request,
  served: ReadonlyArray<string>
): HttpServerResponse | undefined => {
  const { id, method, params = {} } = message
  const version = RequestMetadata.versionIn(params["_meta"])
  if (version === undefined) {
    const declared = headers[RequestHeaders.names.version]
    // The server reads the rest of the metadata, and rejects it if it is missing or invalid.
    return declared === undefined || served.includes(declared)
      ? undefined
      : rejectedWith(id, McpError.unsupportedVersion(declared, served))
  }
  const problem = RequestHeaders.difference(headers, { method, params, version })
  return problem === undefined
    ? undefined
    : rejectedWith(id, McpError.headerMismatch(problem))
}

/** The statuses of errors, by code. Any other error has 200. */
const statuses: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ParseError, 400],
  [ErrorCode.InvalidRequest, 400],
  [ErrorCode.MethodNotFound, 404],
  [ErrorCode.HeaderMismatch, 400],
  [ErrorCode.MissingRequiredClientCapability, 400],
  [ErrorCode.UnsupportedProtocolVersion, 400]
])

/** Returns the status of an error in reply to this frame (SHE-14, VER-03, VER-07, VER-11). */
export const statusOf = (code: number, message: JsonRpc.Classified): number =>
  code === ErrorCode.InvalidParams && Result.isFailure(RequestMetadata.read(metaOf(message)))
    ? 400
    : statuses.get(code) ?? 200
