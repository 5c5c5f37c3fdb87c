/**
 * Transports that do not show secrets which the peer repeats, such as a token in the text of an HTTP error.
 */
import type { CloseReason } from "@effect-mcp/protocol"
import type { Connection, End, Hooks, Inbound, Transport, TransportEvent } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Exit from "effect/Exit"
import { flow } from "effect/Function"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as ServerAddress from "./internal/shared/ServerAddress.ts"

const replacement = "<redacted>"

/** The length of the shortest text that is hidden. A shorter one, such as a digit, would be hidden everywhere. */
const minLength = 4

/** Words that are no secrets, and that many texts contain. */
const common: ReadonlySet<string> = new Set(["true", "false", "null", "none"])

/** The number of secrets that are remembered. A program may send another token with each request. */
const maxSecrets = 64

/** The levels of a value that are searched. What is deeper is left out. */
const maxLevels = 256

/** Returns a secret, and its parts that are secrets themselves: what follows a scheme, and the password of `Basic`. */
const partsOf = (secret: string): ReadonlyArray<string> => {
  const [, scheme = "", credentials] = /^([A-Za-z][\w-]*) +(\S.*)$/s.exec(secret) ?? []
  if (credentials === undefined) return [secret]
  if (scheme.toLowerCase() !== "basic") return [secret, credentials]
  const user = Result.getOrElse(Base64.decodeString(credentials), () => "")
  return [secret, credentials, user, user.slice(user.indexOf(":") + 1)]
}

/** Returns the forms that a text has in URLs, in names of hosts, in quotes, and as base64. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const inUrl = URL.canParse(`http://h/${secret}`) ? new URL(`http://h/${secret}`) : undefined
  const alone = URL.canParse(secret) ? new URL(secret) : undefined
  const asHost = URL.canParse(`http://${secret}`) ? new URL(`http://${secret}`) : undefined
  return [
    secret,
    // Half of a character cannot be encoded.
    encodeURIComponent(secret.replaceAll(/\p{Surrogate}/gu, "\u{fffd}")),
    JSON.stringify(secret).slice(1, -1),
    Base64.encode(secret),
    inUrl?.href.slice("http://h/".length) ?? "",
    inUrl?.pathname.slice(1) ?? "",
    alone?.hostname ?? "",
    alone?.pathname ?? "",
    asHost?.hostname ?? "",
    asHost?.pathname ?? ""
  ]
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

const sameMembers = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.every((member, index) => member === other[index])

/**
 * Hides secrets of at least 4 characters in what a transport reports: errors, lost streams, the exit of a process,
 * error responses of the peer, and texts of it that are no messages. A secret after a scheme (`Bearer …`) is hidden by
 * itself, and so is the password of `Basic`, and each of them as it is written in URLs, in JSON and in base64.
 *
 * Results and other messages are not changed: they are the data of the program. An error about an invalid result of
 * the handshake shows no secrets of that result.
 *
 * @category models
 */
export interface HiddenSecrets {
  /** Hides a secret from now on. At most 64 are remembered, and the oldest one is forgotten. */
  readonly add: (secret: string | Redacted.Redacted<string>) => void
  /** Returns a text without the secrets: each one becomes `<redacted>`, also one that is cut by an ellipsis. */
  readonly text: (text: string) => string
  /** Returns a transport that does not show the secrets. */
  readonly transport: (transport: Transport["Service"]) => Transport["Service"]
}

class Hiding implements HiddenSecrets {
  readonly #description: string | undefined
  readonly #known = new Map<string, ReadonlyArray<string>>()
  /** The forms of all secrets, the longest first, because one may contain another. */
  #forms: ReadonlyArray<string> = []

  constructor(description: string | undefined) {
    this.#description = description
  }

  readonly add = (given: string | Redacted.Redacted<string>): void => {
    const secret = typeof given === "string" ? given : Redacted.value(given)
    if (this.#known.has(secret)) return
    const forms = partsOf(secret).flatMap(formsOf).flatMap((form) => [form, form.toLowerCase()])
    this.#known.set(secret, forms.filter((form) => form.length >= minLength && !common.has(form)))
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxSecrets && oldest !== undefined) this.#known.delete(oldest)
    this.#forms = [...new Set([...this.#known.values()].flat())].toSorted((a, b) => b.length - a.length)
  }

  readonly text = (text: string): string => {
    // What cuts a text writes an ellipsis (`Excerpt`), and may have cut a secret.
    const parts = this.#forms.some((form) => form.includes("…")) ? [text] : text.split("…")
    const uncut = parts.map((part, index) => index === parts.length - 1 ? part : this.#withoutCutSecret(part))
    return this.#forms.reduce((shown, form) => shown.replaceAll(form, replacement), uncut.join("…"))
  }

  readonly transport = ({ connect }: Transport["Service"]): Transport["Service"] => ({
    connect: Effect.mapBoth(connect, {
      onFailure: (error) => this.#error(error),
      onSuccess: (connection) => this.#connection(connection)
    })
  })

  /** Returns a text without the beginning of a secret at its end. */
  #withoutCutSecret(text: string): string {
    // The leftmost one, because the beginning of one secret may be the end of another.
    const begins = this.#forms.map((form) => {
      const begin = Math.max(0, text.length - form.length)
      let at = text.indexOf(form.slice(0, minLength), begin)
      while (at >= 0 && !form.startsWith(text.slice(at))) at = text.indexOf(form.slice(0, minLength), at + 1)
      return at < 0 ? text.length : at
    })
    const end = Math.min(text.length, ...begins)
    return end === text.length ? text : text.slice(0, end) + replacement
  }

  /** Returns a value without the secrets: the same one if it has none. */
  #value(value: unknown, levels = maxLevels): unknown {
    if (typeof value === "string") return this.text(value)
    if (!isObject(value)) return value
    if (levels === 0) return replacement
    if (Array.isArray(value)) {
      const members = value.map((member: unknown) => this.#value(member, levels - 1))
      return sameMembers(value, members) ? value : members
    }
    const entries = Object.entries(value)
    const shown = entries.map(([name, member]) => [this.text(name), this.#value(member, levels - 1)] as const)
    return sameMembers(entries.flat(), shown.flat()) ? value : Object.fromEntries(shown)
  }

  #cause(cause: unknown): unknown {
    if (cause instanceof TransportError.TransportError) return this.#error(cause)
    if (!(cause instanceof Error)) return this.#value(cause)
    const message = this.text(cause.message)
    // Its other members may have the secret as well, such as the arguments of a command that could not be started.
    const members = Object.entries(cause).flatMap(([name, member]: readonly [string, unknown]) =>
      name !== "message" && (typeof member === "string" || typeof member === "number")
        ? [[name, this.#value(member)]]
        : []
    )
    const nested = cause.cause === undefined ? undefined : { cause: this.#cause(cause.cause) }
    const shown = Object.assign(new Error(message, nested), Object.fromEntries(members))
    shown.name = cause.name
    shown.stack = `${cause.name}: ${message}`
    return shown
  }

  #exit(exit: CloseReason.ProcessExit | undefined): CloseReason.ProcessExit | undefined {
    return exit === undefined ? undefined : { ...exit, stderr: exit.stderr.map(this.text) }
  }

  #target(target: string): string {
    return this.#description ?? this.text(target)
  }

  #reason(reason: TransportError.TransportErrorReason): TransportError.TransportErrorReason {
    switch (reason._tag) {
      case "ConnectFailed":
        return { ...reason, target: this.#target(reason.target), cause: this.#cause(reason.cause) }
      case "ReadFailed":
      case "WriteFailed":
      case "Unserializable":
      case "ExchangeEnded":
        return "cause" in reason ? { ...reason, cause: this.#cause(reason.cause) } : reason
      case "InvalidHeader":
      case "SessionLost":
        return { ...reason, problem: this.text(reason.problem) }
      case "Rejected": {
        const { target } = reason
        return {
          ...reason,
          problem: this.text(reason.problem),
          ...target === undefined ? undefined : { target: this.#target(target) }
        }
      }
      case "Unauthenticated": {
        const { challenge, target } = reason
        return {
          ...reason,
          challenge: challenge === undefined ? undefined : this.text(challenge),
          ...target === undefined ? undefined : { target: this.#target(target) }
        }
      }
      case "PeerEnded":
        return { ...reason, exit: this.#exit(reason.exit) }
      case "InUse":
      case "NoRoute":
      case "StreamStalled":
        return reason
    }
  }

  readonly #error = ({ reason }: TransportError.TransportError): TransportError.TransportError =>
    TransportError.make(this.#reason(reason))

  readonly #end = ({ exit, ...end }: End): End => ({ ...end, exit: this.#exit(exit) })

  #event(event: TransportEvent): TransportEvent {
    return event._tag === "StreamLost" ? { ...event, cause: this.#cause(event.cause) } : event
  }

  /**
   * Returns a frame: an error response is one that a peer writes for its log as well, with what it was sent. A text
   * that is no message is one that a program prints, and its client reports it.
   */
  #message(message: unknown): unknown {
    if (!isMessage(message)) return this.#value(message)
    return "error" in message ? { ...message, error: this.#value(message["error"]) } : message
  }

  #inbound(inbound: Inbound): Inbound {
    const { frame } = inbound
    if (Result.isFailure(frame)) {
      return frame.failure._tag === "NotJson"
        ? {
          ...inbound,
          frame: Result.fail({ ...frame.failure, text: this.text(this.#withoutCutSecret(frame.failure.text)) })
        }
        : inbound
    }
    const { success } = frame
    const shown = Array.isArray(success)
      ? success.map((message: unknown) => this.#message(message))
      : this.#message(success)
    return { ...inbound, frame: Result.succeed(shown) }
  }

  #connection(connection: Connection): Connection {
    const { request } = connection
    const hooksOf = (hooks: Hooks | undefined): Hooks | undefined =>
      hooks === undefined ? undefined : { ...hooks, report: (event) => hooks.report(this.#event(event)) }
    return {
      ...connection,
      hideSecrets: connection.hideSecrets === undefined
        ? this.text
        : flow(connection.hideSecrets, this.text),
      run: (deliver, hooks) =>
        Effect.mapBoth(
          connection.run(
            (inbound) => deliver(this.#forms.length > 0 && mayHaveError(inbound) ? this.#inbound(inbound) : inbound),
            hooksOf(hooks)
          ),
          { onFailure: this.#error, onSuccess: this.#end }
        ),
      send: (outbound) => {
        const sent = connection.send(outbound)
        return Exit.isExit(sent) && Exit.isSuccess(sent) ? sent : Effect.mapError(sent, this.#error)
      },
      ...request === undefined ? undefined : {
        request: (message) => Effect.mapError(request(message), this.#error)
      }
    }
  }
}

const isMessage = (value: unknown): value is { readonly [name: string]: unknown } =>
  isObject(value) && ("method" in value || "result" in value || "error" in value)

/** Returns whether a frame is a batch, an error response or no message. Others need no search. */
const mayHaveError = ({ frame }: Inbound): boolean =>
  Result.isFailure(frame) || Array.isArray(frame.success) || !isMessage(frame.success) || "error" in frame.success

/**
 * Returns the URL of a server without what may be secret: user, password, query and fragment. A text that is no URL
 * loses what is in their places.
 *
 * @example
 * ```ts
 * import { HiddenSecrets } from "@effect-mcp/transport"
 *
 * export const shown = HiddenSecrets.url("https://ada:secret@example.com/mcp?key=secret")
 * // => "https://example.com/mcp"
 * ```
 *
 * @category formatting
 */
export const url = (given: string | URL): string => ServerAddress.shown(given)

/**
 * Creates {@link HiddenSecrets}. The clients of this package hide by themselves the `Redacted` values of their headers,
 * arguments and environment variables, and what `authorize` returns. Use it for other secrets, such as those of a URL,
 * and for a transport of your own. An error of a failed connection shows the `description` in place of the address.
 *
 * @example
 * ```ts
 * import { HiddenSecrets } from "@effect-mcp/transport"
 * import * as Redacted from "effect/Redacted"
 *
 * const hidden = HiddenSecrets.make([Redacted.make("Bearer sk-live-1234")])
 *
 * export const shown = hidden.text("the key sk-live-1234 has expired") // => "the key <redacted> has expired"
 * ```
 *
 * @category constructors
 */
export const make = (
  secrets: ReadonlyArray<string | Redacted.Redacted<string>>,
  description?: string
): HiddenSecrets => {
  const hiding = new Hiding(description)
  for (const secret of secrets) hiding.add(secret)
  return hiding
}
