/** The rules of the response to a POST, by the era of its message. */
import { ErrorCode, type JsonRpc } from "@effect-mcp/protocol"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"

/** The rules of one era. */
export interface PostRules {
  /** Returns the status of an error in reply to this message. */
  readonly statusOf: (code: number, message: JsonRpc.Classified) => number
  /** Whether the event stream may open before there is a message. Otherwise a late error still has its status. */
  readonly opensEarly: boolean
  /** Whether the loss of its connection cancels the request (SHE-07), which otherwise goes on for a time (SHS-10). */
  readonly isCancelledByLoss: boolean
}

/** The codes of errors after which there is no session: of a second `initialize`, or of one that is not served. */
const rejectsHandshake: ReadonlySet<number> = new Set([
  ErrorCode.InvalidRequest,
  ErrorCode.UnsupportedProtocolVersion
])

/**
 * The rules of a revision with a handshake. An error in reply to a request has 200 like any result. A rejected message
 * that is not a request has 400. So has a rejected `initialize`, which must not look like a new session.
 */
export const handshake: PostRules = {
  statusOf: (code, message) => {
    if (message._tag !== "Request") return 400
    return message.message.method === "initialize" && rejectsHandshake.has(code) ? 400 : 200
  },
  opensEarly: true,
  isCancelledByLoss: false
}

/** The statuses of errors, by code. Any other error has 200 (SHE-14, VER-03, VER-07, VER-11). */
const statuses: ReadonlyMap<number, number> = new Map([
  [ErrorCode.ParseError, 400],
  [ErrorCode.InvalidRequest, 400],
  [ErrorCode.MethodNotFound, 404],
  [ErrorCode.HeaderMismatch, 400],
  [ErrorCode.MissingRequiredClientCapability, 400],
  [ErrorCode.UnsupportedProtocolVersion, 400]
])

const modern: PostRules = {
  statusOf: (code) => statuses.get(code) ?? 200,
  opensEarly: false,
  isCancelledByLoss: true
}

/** The rules of a request that the server rejects by its metadata or its headers. */
const rejected: PostRules = { ...modern, statusOf: () => 400 }

/** Returns the rules for a message of an era. */
export const of = ({ _tag }: StatelessServer.Era): PostRules => {
  switch (_tag) {
    case "Handshake":
      return handshake
    case "Rejected":
      return rejected
    case "Modern":
    case "ModernFrame":
      return modern
  }
}
