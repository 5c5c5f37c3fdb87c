/** The requests of a hostile client over HTTP, on sockets that it may leave unread. */
import * as http from "node:http"
import * as net from "node:net"
import { fromAttacker } from "./attackerAddress.ts"
import { drained } from "./drained.ts"
import * as Frames from "./frames.ts"

/** The address of the victim. */
export interface Target {
  readonly url: URL
  /** Whether a client has a session. */
  readonly sessions: boolean
}

/** Waits. */
export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Returns the text of a POST. */
export const post = ({ url }: Target, body: string, session?: string, extraHeaders = ""): string =>
  `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
  `Accept: application/json, text/event-stream\r\n${session === undefined ? "" : `Mcp-Session-Id: ${session}\r\n`}` +
  `${extraHeaders}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Returns the text of a GET for a stream of messages. */
export const get = ({ url }: Target, session: string, extraHeaders = ""): string =>
  `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAccept: text/event-stream\r\n` +
  `Mcp-Session-Id: ${session}\r\n${extraHeaders}\r\n`

/** Opens a socket. Later errors close the socket and are ignored. */
export const connect = ({ url }: Target): Promise<net.Socket | undefined> =>
  new Promise((resolve) => {
    const socket = net.connect({ port: Number(url.port), host: url.hostname, ...fromAttacker })
    socket.on("error", () => {
      socket.destroy()
      resolve(undefined)
    })
    socket.once("connect", () => resolve(socket))
  })

/** Writes a text, after back-pressure ends. Returns `false` if the socket has closed. */
export const write = async (socket: net.Socket, text: string): Promise<boolean> => {
  if (socket.destroyed) return false
  if (!socket.write(text)) await drained(socket)
  return !socket.destroyed
}

const agent = new http.Agent({ keepAlive: true, ...fromAttacker })

/** A response that was read. */
export interface Answer {
  /** The session id of the response, if it has one. */
  readonly session: string | undefined
  readonly text: string
}

/** Posts a text and reads the whole response. Returns `undefined` if there is none. */
export const postAndRead = (
  { url }: Target,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal
): Promise<Answer | undefined> =>
  new Promise((resolve) => {
    const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers }
    const options = { method: "POST", headers: all, agent, ...(signal === undefined ? {} : { signal }) }
    http.request(url, options, (response) => {
      const session = response.headers["mcp-session-id"]
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("close", () => resolve({ session: typeof session === "string" ? session : undefined, text }))
    }).on("error", () => resolve(undefined)).end(body)
  })

/** Opens a session, and returns its id; `undefined` if the server has no sessions or rejects this one. */
export const handshake = async (
  target: Target,
  revision?: string,
  capabilities?: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<string | undefined> => {
  if (!target.sessions) return undefined
  const id = (await postAndRead(target, Frames.initialize(revision, capabilities), headers))?.session
  if (id !== undefined) await postAndRead(target, Frames.initialized, { ...headers, "mcp-session-id": id })
  return id
}
