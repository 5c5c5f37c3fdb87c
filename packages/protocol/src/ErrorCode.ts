/**
 * The error codes of JSON-RPC and MCP.
 *
 * @stability unstable
 */

/**
 * The frame was not JSON, not UTF-8, or larger than the limit.
 *
 * @category constants
 */
export const ParseError = -32700

/**
 * The frame is JSON but not a JSON-RPC message, or the request is not allowed in this state of the session.
 *
 * @category constants
 */
export const InvalidRequest = -32600

/**
 * The receiver does not serve the method: it is unknown, not in the negotiated revision, or has no handler.
 *
 * @category constants
 */
export const MethodNotFound = -32601

/**
 * The params are invalid for the method.
 *
 * @category constants
 */
export const InvalidParams = -32602

/**
 * The receiver failed, and does not disclose the cause.
 *
 * @category constants
 */
export const InternalError = -32603

/**
 * The request exceeds a limit of this library, such as that of requests in flight. The code is outside the range that
 * JSON-RPC reserves (MSG-26). A peer that does not know it handles it like any other error.
 *
 * @category constants
 */
export const Overloaded = -31010

/**
 * The program of the client has answered a question in a way that does not fit the question, so the answer was not
 * sent. The code is outside the range that JSON-RPC reserves, as that of {@link Overloaded}.
 *
 * @category constants
 */
export const InvalidAnswer = -31011

/**
 * The sender of the request lacks a scope that the operation needs. The data of the error has all scopes of it. Over
 * HTTP the response has status 403 with a challenge, if it has not begun. The code is outside the range that JSON-RPC
 * reserves, as that of {@link Overloaded}.
 *
 * @category constants
 */
export const InsufficientScope = -31012

/**
 * The request may have been carried out, and its result is not known: the process that served it has ended, or could
 * not be reached. The data of the error is `{ outcome: "unknown" }`. A client that sends the request again can have its
 * effect twice. The code is outside the range that JSON-RPC reserves, as that of {@link Overloaded}.
 *
 * @category constants
 */
export const OutcomeUnknown = -31013

/**
 * The resource does not exist, in the revisions with a handshake (RES-05).
 *
 * @category constants
 */
export const ResourceNotFound = -32002

/**
 * The user must visit the URLs in the data of the error before the client repeats the request, in revision 2025-11-25
 * (ELI-14).
 *
 * @category constants
 */
export const UrlElicitationRequired = -32042

/**
 * The headers of a request differ from its body, or one is missing, in revision 2026-07-28 (SHE-12, SHE-17).
 *
 * @category constants
 */
export const HeaderMismatch = -32020

/**
 * The request needs a capability that its client has not declared in it, in revision 2026-07-28 (VER-11).
 *
 * @category constants
 */
export const MissingRequiredClientCapability = -32021

/**
 * The server does not serve the revision that the request names, in revision 2026-07-28 (VER-07).
 *
 * @category constants
 */
export const UnsupportedProtocolVersion = -32022
