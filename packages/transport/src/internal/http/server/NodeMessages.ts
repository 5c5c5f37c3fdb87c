/**
 * The messages of Node below a request of Effect, if its server runs on Node.
 *
 * They are recognized by their members, so that a server in a worker loads nothing of Node.
 */
import * as Equal from "effect/Equal"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Predicate from "effect/Predicate"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Http2ServerResponse } from "node:http2"
import type { Readable } from "node:stream"

/**
 * Makes the check whether a value has these members. All are of its class, so each class is checked once: a request is
 * asked for several times, and the members themselves would cost it one in twenty of its time.
 */
const hasAll = (...names: ReadonlyArray<string>): (value: unknown) => boolean => {
  const known = new WeakMap<object, boolean>()
  return (value) => {
    if (typeof value !== "object" || value === null) return false
    const prototype: object = Object.getPrototypeOf(value) ?? value
    const found = known.get(prototype)
    if (found !== undefined) return found
    const has = names.every((name) => name in value)
    known.set(prototype, has)
    return has
  }
}

const hasReadable = hasAll("readableDidRead", "on", "off", "pause", "resume")

const hasMessage = hasAll("readableDidRead", "on", "off", "pause", "resume", "rawHeaders", "setTimeout")

const hasResponse = hasAll("on", "once", "writeHead", "writeContinue")

const isReadable = (value: unknown): value is Readable => hasReadable(value)

const isIncomingMessage = (value: unknown): value is IncomingMessage =>
  hasMessage(value) && Predicate.hasProperty(value, "httpVersionMajor") && value.httpVersionMajor === 1

const isResponse = (value: unknown): value is ServerResponse | Http2ServerResponse => hasResponse(value)

/** Returns the request of HTTP/1.1 on Node. */
export const requestOf = ({ source }: HttpServerRequest): IncomingMessage | undefined =>
  isIncomingMessage(source) ? source : undefined

/** Returns the body of a request on Node. */
export const bodyOf = ({ source }: HttpServerRequest): Readable | undefined => isReadable(source) ? source : undefined

/** Returns the response to a request on Node, of HTTP/1.1 or HTTP/2. The response to an upgrade is none. */
export const responseOf = (request: HttpServerRequest): ServerResponse | Http2ServerResponse | undefined => {
  // Effect makes the response of a request that may be an upgrade on first use.
  if (!Predicate.hasProperty(request, "response")) return undefined
  const { response } = request
  const made: unknown = typeof response === "function" ? response() : response
  return isResponse(made) ? made : undefined
}

/** Returns whether a response is one of HTTP/1.1, whose connection has one request at a time. */
export const isHttp1 = (response: ServerResponse | Http2ServerResponse): response is ServerResponse =>
  !Predicate.hasProperty(response, "stream")

/**
 * Makes Effect compare the messages of a request by reference.
 *
 * A response that breaks off fails with a cause that contains the request and the response, and Effect hashes both when
 * it adds a reason to the cause. By default it would visit every object that Node can reach from a message: the
 * connection, the other requests, the server and the agent, again for each path, because they refer to each other. A
 * process then answered no request for up to ten seconds after its clients had left.
 */
export const compareByReference = (request: HttpServerRequest): void => {
  Equal.byReferenceUnsafe(request)
  Equal.byReferenceUnsafe(request.source)
  // Effect makes the response to an upgrade on first use: it is not needed here, and would hold the socket.
  if (!Predicate.hasProperty(request, "response")) return
  const { response } = request
  if (Predicate.isObject(response)) Equal.byReferenceUnsafe(response)
}
