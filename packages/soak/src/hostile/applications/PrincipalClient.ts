/** A hostile client of one principal over HTTP, in one era. */
import type * as net from "node:net"
import * as Frames from "../frames.ts"
import { connect, get, handshake, post, postAndRead, type Target, write } from "../httpRequests.ts"
import * as StatelessFrames from "../statelessFrames.ts"
import * as Bearer from "./Bearer.ts"

/** The revisions of the two eras. */
export type Revision = "2025-11-25" | "2026-07-28"

export const revisions: ReadonlyArray<Revision> = ["2025-11-25", "2026-07-28"]

/** A request. `params` are members of its params as text. */
export interface Request {
  readonly method: string
  readonly params: string
  /** The header `Mcp-Name` of revision 2026-07-28. */
  readonly name?: string
}

export interface PrincipalClient {
  readonly revision: Revision
  /** Sends a request and returns the text of the response; `undefined` without a response. */
  readonly send: (request: Request) => Promise<string | undefined>
  /** Sends a request on a socket of its own, and leaves the response unread. */
  readonly sendUnread: (request: Request) => Promise<net.Socket | undefined>
  /** Opens the stream for messages that belong to no request, and leaves it unread. Only a session has one. */
  readonly streamUnread: () => Promise<net.Socket | undefined>
}

const lines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")

const unread = async (target: Target, text: string): Promise<net.Socket | undefined> => {
  const socket = await connect(target)
  if (socket === undefined || !await write(socket.pause(), text)) return undefined
  return socket
}

/** Opens a client. A client of revision 2025-11-25 opens a session; `undefined` if the server rejects it. */
export const open = async (
  target: Target,
  principal: string,
  revision: Revision
): Promise<PrincipalClient | undefined> => {
  const authorization = { authorization: Bearer.header(principal) }
  const session = revision === "2025-11-25"
    ? await handshake(target, revision, undefined, authorization)
    : undefined
  if (revision === "2025-11-25" && session === undefined) return undefined
  let id = 0
  const textOf = ({ method, params }: Request): string =>
    session === undefined
      ? StatelessFrames.request(++id, method, params, StatelessFrames.tasks)
      : Frames.request(++id, method, params)
  const headersOf = ({ method, name }: Request): Readonly<Record<string, string>> => ({
    ...authorization,
    "mcp-protocol-version": revision,
    ...(session === undefined
      ? { "mcp-method": method, ...(name === undefined ? {} : { "mcp-name": name }) }
      : { "mcp-session-id": session })
  })
  return {
    revision,
    send: async (request) => (await postAndRead(target, textOf(request), headersOf(request)))?.text,
    sendUnread: (request) => unread(target, post(target, textOf(request), undefined, lines(headersOf(request)))),
    streamUnread: () =>
      session === undefined
        ? Promise.resolve(undefined)
        : unread(target, get(target, session, lines(authorization)))
  }
}
