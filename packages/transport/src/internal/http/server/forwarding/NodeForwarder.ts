/** Sends requests to other processes with the HTTP client of Node, which keeps `Host` and does not buffer. */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Cookies from "effect/http/Cookies"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as http from "node:http"
import * as https from "node:https"
import * as NodeMessages from "../NodeMessages.ts"
import * as ForwardedHeaders from "./ForwardedHeaders.ts"
import { type ForwardedRequest, Forwarder, ForwardError } from "./Forwarder.ts"

/** The time in which a connection must be made. Until then, nothing is sent. */
const connectMillis = 2000

/** The most bytes of the headers of a response. */
const maxHeaderBytes = 16 * 1024

/** The idle connections to one process that are kept for later requests. */
const maxIdle = 64

/**
 * The time for which an idle connection is kept. A server of Node closes it after 5 seconds. A request that is sent at
 * this moment breaks with it, and its outcome is unknown. Without a time, `Agent` ignores a shorter one of the owner.
 */
const idleMillis = 4000

/** The time after which the system probes a silent connection, whose machine may be gone. */
const probeMillis = 10_000

/** The status of a process that does not have the session. */
const misdirected = 421

/** The status of a process that has not processed a message. */
const unavailable = 503

interface Agents {
  readonly "http:": http.Agent
  readonly "https:": https.Agent
}

const agentOptions = { keepAlive: true, maxFreeSockets: maxIdle, scheduling: "lifo", timeout: idleMillis } as const

const agents = Effect.acquireRelease(
  Effect.sync((): Agents => ({ "http:": new http.Agent(agentOptions), "https:": new https.Agent(agentOptions) })),
  (made) =>
    Effect.sync(() => {
      made["http:"].destroy()
      made["https:"].destroy()
    })
)

const open = (agents: Agents, { address, headers, method, path }: ForwardedRequest): http.ClientRequest => {
  const options: https.RequestOptions = {
    // The brackets of an IPv6 address belong to the URL.
    host: address.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: address.port === "" ? undefined : address.port,
    method,
    path,
    headers,
    setHost: false,
    maxHeaderSize: maxHeaderBytes
  }
  return address.protocol === "https:"
    ? https.request({ ...options, agent: agents["https:"] })
    : http.request({ ...options, agent: agents["http:"] })
}

/** Sends the body of a request, as fast as the process reads it. */
const sendBody = (request: http.ClientRequest, { body }: ForwardedRequest): void => {
  if (body._tag === "None") return void request.end()
  if (body._tag === "Kept") return void request.end(body.bytes)
  body.isSent = true
  const { begun, rest } = body
  for (const chunk of begun) request.write(chunk)
  const onBroken = () => {
    if (!rest.readableEnded) request.destroy(new Error("the client has broken off the body"))
  }
  rest.once("error", onBroken)
  rest.once("close", onBroken)
  request.once("close", () => {
    rest.off("error", onBroken).off("close", onBroken).unpipe(request)
    rest.pause()
  })
  rest.pipe(request)
}

/** Returns whether the whole body of a request was sent. What is left of it would be read as the next request. */
const isBodySent = ({ body }: ForwardedRequest): boolean => body._tag !== "Streamed" || body.rest.readableEnded

const toResponse = (
  message: http.IncomingMessage,
  forwarded: ForwardedRequest
): HttpServerResponse.HttpServerResponse => {
  const headers = ForwardedHeaders.ofResponse(message.headers)
  const cookies = message.headers["set-cookie"]
  // Effect hashes what is in the error of a response that breaks off. An event stream of this process has no error.
  NodeMessages.compareByReference(forwarded.of)
  return HttpServerResponse.raw(Equal.byReferenceUnsafe(message), {
    status: message.statusCode ?? 502,
    headers: isBodySent(forwarded) ? headers : { ...headers, connection: "close" },
    ...(cookies === undefined ? undefined : { cookies: Cookies.fromSetCookie(cookies) })
  })
}

/**
 * Breaks off a response of which nothing arrives. The owner sends comments in a silent stream, so its process is paused
 * or its machine is gone. Without this, a client would wait for ever: the system keeps the connection of a paused
 * process, and answers its probes.
 */
const breakOffIfSilent = (
  request: http.ClientRequest,
  message: http.IncomingMessage,
  { silenceMillis }: ForwardedRequest
): void => {
  if (!Number.isFinite(silenceMillis)) return
  const millis = Math.min(silenceMillis, 2 ** 31 - 1)
  request.on("timeout", () => {
    // While the client reads nothing, this process reads nothing either.
    if (message.readableFlowing === true) request.destroy(new Error(`no byte of the response within ${millis} ms`))
    else request.setTimeout(millis)
  })
  request.setTimeout(millis)
}

const send = (agents: Agents, forwarded: ForwardedRequest) =>
  Effect.callback<HttpServerResponse.HttpServerResponse, ForwardError>((resume) => {
    let isConnected = false
    let isClosed = false
    let hasEnded = false
    const onClose = forwarded.begin()
    let timer: ReturnType<typeof setTimeout> | undefined
    const close = () => {
      if (isClosed) return
      isClosed = true
      clearTimeout(timer)
      onClose()
    }
    // A process does not process a request that it does not have completely.
    const fail = (cause: unknown, mayBeProcessed = isConnected && isBodySent(forwarded)) => {
      hasEnded = true
      clearTimeout(timer)
      resume(Effect.fail(new ForwardError({ mayBeProcessed, cause })))
    }
    let request: http.ClientRequest
    try {
      request = open(agents, forwarded)
    } catch (cause) {
      close()
      return resume(Effect.fail(new ForwardError({ mayBeProcessed: false, isInvalid: true, cause })))
    }
    const failLate = (limit: number) => {
      const problem = !isConnected
        ? "no connection was made"
        : isBodySent(forwarded)
        ? "no response began"
        : "the body was not sent"
      const cause = new Error(`${problem} within ${limit} ms`)
      fail(cause)
      request.destroy(cause)
    }
    const watch = (millis: number) => {
      clearTimeout(timer)
      if (Number.isFinite(millis)) timer = setTimeout(() => failLate(millis), Math.min(millis, 2 ** 31 - 1))
    }
    const onConnected = () => {
      isConnected = true
      const { bodyMillis, headersMillis } = forwarded
      watch(isBodySent(forwarded) ? headersMillis : bodyMillis + headersMillis)
      // The response may begin earlier, and the process breaks off the body then.
      request.once("finish", () => {
        if (!hasEnded) watch(headersMillis)
      })
      sendBody(request, forwarded)
    }
    watch(connectMillis)
    request.on("socket", (socket) => {
      if (!socket.connecting) return onConnected()
      socket.setKeepAlive(true, probeMillis)
      socket.once(forwarded.address.protocol === "https:" ? "secureConnect" : "connect", onConnected)
    })
    request.on("error", (cause) => fail(cause))
    request.on("close", () => {
      fail(new Error("the connection was closed before a response began"))
      close()
    })
    // Without a listener, Node would keep the connection open.
    request.on("upgrade", (_, socket) => {
      socket.destroy()
      fail(new Error("the process has upgraded the connection"))
    })
    request.on("response", (message) => {
      hasEnded = true
      clearTimeout(timer)
      message.on("error", () => {})
      if (message.statusCode === misdirected) {
        message.resume()
        return fail(new Error("the process does not have the session"), false)
      }
      // The process has lost the session before it stored the answer, or shuts down.
      if (message.statusCode === unavailable && forwarded.isAnswer()) {
        message.resume()
        return fail(new Error("the process has not taken the answer"), false)
      }
      const status = message.statusCode ?? 0
      if (status < 200 || status > 599) {
        request.destroy()
        return fail(new Error(`the process replied with status ${status}`))
      }
      breakOffIfSilent(request, message, forwarded)
      // A client that leaves before the body is piped would leave the body unread.
      NodeMessages.responseOf(forwarded.of)?.once("close", () => {
        if (!message.readableEnded) request.destroy()
      })
      forwarded.hasBegun(() => {
        message.once("end", () => request.destroy())
        message.push(null)
      })
      resume(Effect.succeed(toResponse(message, forwarded)))
    })
    return Effect.sync(() => request.destroy())
  })

/** The forwarder of Node. It keeps idle connections to other processes, and closes all with the Layer. */
export const layer: Layer.Layer<Forwarder> = Layer.effect(
  Forwarder,
  Effect.map(agents, (made) => ({ send: (forwarded) => send(made, forwarded) }))
)
