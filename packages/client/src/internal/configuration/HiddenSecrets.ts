/** Transports whose errors do not show secrets of a configuration. */

import type { CloseReason } from "@effect-mcp/protocol"
import { type Connection, type End, Transport, type TransportEvent } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as McpTarget from "../../McpTarget.ts"
import { trust } from "../trust.ts"

const replacement = "<redacted>"

/** The length of the shortest text that is hidden. A shorter one, such as a digit, would be hidden everywhere. */
const minLength = 4

/** Returns the forms that a text has in URLs, in names of hosts, and in quotes. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const inUrl = URL.canParse(`http://h/${secret}`) ? new URL(`http://h/${secret}`) : undefined
  const alone = URL.canParse(secret) ? new URL(secret) : undefined
  const asHost = URL.canParse(`http://${secret}`) ? new URL(`http://${secret}`) : undefined
  return [
    secret,
    // By way of bytes, because half of a character cannot be encoded.
    encodeURIComponent(Buffer.from(secret).toString()),
    JSON.stringify(secret).slice(1, -1),
    inUrl?.href.slice("http://h/".length) ?? "",
    inUrl?.pathname.slice(1) ?? "",
    alone?.hostname ?? "",
    alone?.pathname ?? "",
    asHost?.hostname ?? "",
    asHost?.pathname ?? ""
  ]
}

/** Returns a function that hides secrets in a text. */
const hiding = (secrets: ReadonlyArray<string>): (text: string) => string => {
  const forms = new Set(secrets.flatMap(formsOf).flatMap((form) => [form, form.toLowerCase()]))
  // The longest first, because one may contain another.
  const hidden = [...forms].filter(({ length }) => length >= minLength).toSorted((a, b) => b.length - a.length)
  return (text) => hidden.reduce((shown, secret) => shown.replaceAll(secret, replacement), text)
}

/** Hides secrets in the errors of one server. */
class Hiding {
  readonly #description: string
  readonly text: (text: string) => string

  constructor(description: string, secrets: ReadonlyArray<string>) {
    this.#description = description
    this.text = hiding(secrets)
  }

  #exit({ stderr, ...exit }: CloseReason.ProcessExit): CloseReason.ProcessExit {
    return { ...exit, stderr: stderr.map(this.text) }
  }

  #cause(cause: unknown): unknown {
    if (typeof cause === "string") return this.text(cause)
    if (cause instanceof TransportError.TransportError) return this.error(cause)
    if (!(cause instanceof Error)) return cause
    // Its other members may have the secret as well, such as the path of an error of the system.
    const shown = new Error(this.text(cause.message))
    shown.name = cause.name
    shown.stack = `${cause.name}: ${shown.message}`
    return shown
  }

  error({ reason }: TransportError.TransportError): TransportError.TransportError {
    const texts = Object.entries(reason).map(([name, value]: readonly [string, unknown]) => [
      name,
      name === "target"
        ? this.#description
        : name === "exit" && value !== undefined
        ? this.#exit(trust<CloseReason.ProcessExit>(value))
        : name === "_tag" || name === "method"
        ? value
        : this.#cause(value)
    ])
    // Each member has its type still.
    return TransportError.make(trust<TransportError.TransportErrorReason>(Object.fromEntries(texts)))
  }

  #end({ exit, ...end }: End): End {
    return { ...end, exit: exit === undefined ? undefined : this.#exit(exit) }
  }

  #event(event: TransportEvent): TransportEvent {
    return event._tag === "StreamLost" ? { ...event, cause: this.#cause(event.cause) } : event
  }

  connection(connection: Connection): Connection {
    const { request } = connection
    const error = (error: TransportError.TransportError) => this.error(error)
    return {
      ...connection,
      run: (deliver, hooks) =>
        connection.run(
          deliver,
          hooks === undefined ? undefined : { ...hooks, report: (event) => hooks.report(this.#event(event)) }
        ).pipe(Effect.mapBoth({ onFailure: error, onSuccess: (end) => this.#end(end) })),
      send: (outbound) => Effect.mapError(connection.send(outbound), error),
      ...request === undefined ? undefined : {
        request: (message) => Effect.mapError(request(message), error)
      }
    }
  }
}

/**
 * Returns a target whose errors do not show these texts. An error shows the description in place of the address that
 * could not be reached.
 */
export const hide = (
  { description, transport, withStderr }: McpTarget.McpTarget,
  secrets: ReadonlyArray<string>
): McpTarget.McpTarget => {
  const hiding = new Hiding(description, secrets)
  const hidden = (layer: McpTarget.McpTarget["transport"]): McpTarget.McpTarget["transport"] =>
    Layer.provide(
      Layer.effect(
        Transport,
        Effect.map(Transport, ({ connect }) => ({
          connect: Effect.mapBoth(connect, {
            onFailure: (error) => hiding.error(error),
            onSuccess: (connection) => hiding.connection(connection)
          })
        }))
      ),
      layer
    )
  return {
    ...McpTarget.transport(hidden(transport), description),
    ...withStderr === undefined ? undefined : {
      withStderr: (onLine) => hidden(withStderr((line) => onLine(hiding.text(line))))
    }
  }
}
