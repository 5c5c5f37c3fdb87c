/**
 * The error codes a peer may meet on the wire.
 *
 * @since 0.1.0
 */

/**
 * The frame was not JSON, not UTF-8, or larger than the limit.
 *
 * @category constants
 * @since 0.1.0
 */
export const ParseError = -32700

/**
 * JSON, but not a JSON-RPC message, or a request that may not be sent in this state of the session.
 *
 * @category constants
 * @since 0.1.0
 */
export const InvalidRequest = -32600

/**
 * The method is not served here: unknown, not in the negotiated revision, or without a handler.
 *
 * @category constants
 * @since 0.1.0
 */
export const MethodNotFound = -32601

/**
 * The params do not fit the method.
 *
 * @category constants
 * @since 0.1.0
 */
export const InvalidParams = -32602

/**
 * The receiver failed in a way it does not explain to its peer.
 *
 * @category constants
 * @since 0.1.0
 */
export const InternalError = -32603

/**
 * This implementation's answer to a request beyond its limit of requests in flight. It lies in the range that JSON-RPC
 * leaves to implementations; a peer must read no more into it than the message says (MSG-25).
 *
 * @category constants
 * @since 0.1.0
 */
export const Overloaded = -32010

/**
 * The resource does not exist, in the revisions that open with a handshake (RES-05).
 *
 * @category constants
 * @since 0.1.0
 */
export const ResourceNotFound = -32002

/**
 * The request can be tried again once the user has visited the pages that the error's data lists, in revision 2025-11-25
 * (ELI-14).
 *
 * @category constants
 * @since 0.1.0
 */
export const UrlElicitationRequired = -32042
