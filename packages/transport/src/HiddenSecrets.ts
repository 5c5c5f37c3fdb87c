/**
 * Transports that do not show secrets which the peer repeats, such as a token in the text of an HTTP error.
 *
 * @stability unstable
 */
import type { CloseReason } from "@effect-mcp/protocol"
import type { Connection, End, Hooks, Inbound, Transport, TransportEvent } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as KnownSecrets from "./internal/shared/KnownSecrets.ts"
import * as ServerAddress from "./internal/shared/ServerAddress.ts"

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/** The depth to which the members of an error are searched. */
const maxDepth = 4

/**
 * Hides secrets of at least 4 characters in what a transport reports: errors, lost streams, the exit of a process,
 * error responses of the peer, and texts of it that are no messages. A secret after a scheme (`Bearer …`) is hidden by
 * itself, and so is the password of `Basic`, and each of them as it is written in URLs, in JSON and in base64.
 *
 * Results, the `data` of error responses and other messages are not changed: they are the data of the program. An error
 * of the handshake shows no secrets that an invalid result or the `data` of an error repeats.
 *
 * The first 65,536 characters of a frame are searched, and what follows them becomes `<redacted>`. Of an error response
 * the `code` and a `message` remain.
 *
 * @category models
 */
export interface HiddenSecrets {
  /**
   * Hides a secret from now on, besides those of {@link make}. The last 64 are remembered: one that is added again
   * counts as the newest.
   */
  readonly add: (secret: string | Redacted.Redacted<string>) => void
  /** Returns a text without the secrets: each one becomes `<redacted>`, also one that is cut by an ellipsis. */
  readonly text: (text: string) => string
  /** Returns a transport that does not show the secrets. */
  readonly transport: (transport: Transport["Service"]) => Transport["Service"]
}

class Hiding implements HiddenSecrets {
  readonly #description: string | undefined
  readonly #known: KnownSecrets.KnownSecrets

  constructor(secrets: ReadonlyArray<KnownSecrets.Secret>, description: string | undefined) {
    this.#known = new KnownSecrets.KnownSecrets(secrets)
    this.#description = description
  }

  readonly add = (secret: KnownSecrets.Secret): void => this.#known.learn(secret)

  readonly text = (text: string): string => this.#known.text(text)

  readonly transport = ({ connect }: Transport["Service"]): Transport["Service"] => ({
    connect: Effect.mapBoth(connect, {
      onFailure: (error) => this.#error(error),
      onSuccess: (connection) => this.#connection(connection)
    })
  })

  #cause(cause: unknown): unknown {
    if (cause instanceof TransportError.TransportError) return this.#error(cause)
    if (!(cause instanceof Error)) return this.#known.value(cause)
    const message = this.text(cause.message)
    // Its other members may have the secret as well, such as the arguments of a command that could not be started.
    const members = Object.entries(cause).flatMap(([name, member]: readonly [string, unknown]) =>
      name !== "message" && (typeof member === "string" || typeof member === "number")
        ? [[name, this.#known.value(member)]]
        : []
    )
    const nested = cause.cause === undefined ? undefined : { cause: this.#cause(cause.cause) }
    const shown = Object.assign(new Error(message, nested), Object.fromEntries(members))
    shown.name = cause.name
    shown.stack = `${cause.name}: ${message}`
    return shown
  }

  /** Returns whether an error consists of texts without secrets, and of other plain values. */
  #isHarmless(error: unknown): boolean {
    if (!(error instanceof Error)) return false
    const names = Object.getOwnPropertyNames(error)
    return this.#hasNoSecret(error.message, 0) &&
      names.every((name) => this.#hasNoSecret(Object.getOwnPropertyDescriptor(error, name)?.value, maxDepth))
  }

  #hasNoSecret(value: unknown, depth: number): boolean {
    if (typeof value === "string") return this.text(value) === value
    if (typeof value === "number" || typeof value === "boolean" || value === undefined || value === null) return true
    if (depth === 0 || typeof value !== "object") return false
    const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
    return isPlain &&
      Object.entries(value).every(([name, member]) => this.text(name) === name && this.#hasNoSecret(member, depth - 1))
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
      case "AuthorizationRequired":
        return {
          ...reason,
          target: this.#target(reason.target),
          authorized: Effect.mapError(reason.authorized, this.#error)
        }
      case "AuthorizationFailed":
        return {
          ...reason,
          target: this.#target(reason.target),
          problem: this.text(reason.problem),
          // A program recognizes the errors of its authorization by their class and members, which a copy lacks.
          cause: this.#isHarmless(reason.cause) ? reason.cause : this.#cause(reason.cause)
        }
      case "Rejected": {
        const { challenge, target } = reason
        return {
          ...reason,
          problem: this.text(reason.problem),
          ...challenge === undefined ? undefined : { challenge: this.text(challenge) },
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
    switch (event._tag) {
      case "StreamLost":
        return { ...event, cause: this.#cause(event.cause) }
      case "SendFailed":
        return { ...event, error: this.#error(event.error) }
      default:
        return event
    }
  }

  /**
   * Returns an error that a peer writes for its log as well, with what it was sent. Its `data` is for the program, as
   * results are: an address to visit, or the revisions of the server. However long the rest is, a number as its `code`
   * and a text as its `message` remain, without which it would be no error response.
   */
  #errorOf(error: unknown, allowed: KnownSecrets.Allowance): unknown {
    if (!isObject(error)) return this.#known.value(error, allowed)
    const { code, data, message, ...others } = error
    const shown = {
      ..."code" in error ? { code: this.#known.value(code, allowed) } : undefined,
      ..."message" in error ? { message: this.#known.value(message, allowed) } : undefined,
      ..."data" in error ? { data } : undefined
    }
    return Object.assign(shown, this.#known.value(others, allowed))
  }

  /** Returns a message. A text that is no message is one that a program prints, and its client reports it. */
  #message(message: unknown, allowed: KnownSecrets.Allowance): unknown {
    if (!isMessage(message)) return this.#known.value(message, allowed)
    if (!("error" in message)) return message
    const { error } = message
    return { ...message, error: this.#errorOf(error, allowed) }
  }

  #inbound(inbound: Inbound): Inbound {
    const { frame } = inbound
    if (Result.isFailure(frame)) {
      const { failure } = frame
      return failure._tag === "NotJson"
        ? { ...inbound, frame: Result.fail({ ...failure, text: this.#known.text(failure.text, true) }) }
        : inbound
    }
    const { success } = frame
    const allowed = KnownSecrets.allowance()
    const shown = Array.isArray(success)
      ? success.map((message: unknown) => this.#message(message, allowed))
      : this.#message(success, allowed)
    return { ...inbound, frame: Result.succeed(shown) }
  }

  #connection(connection: Connection): Connection {
    const { request } = connection
    const hooksOf = (hooks: Hooks | undefined): Hooks | undefined =>
      hooks === undefined ? undefined : { ...hooks, report: (event) => hooks.report(this.#event(event)) }
    return {
      ...connection,
      hideSecrets: (value) =>
        this.#known.value(connection.hideSecrets === undefined ? value : connection.hideSecrets(value)),
      run: (deliver, hooks) =>
        Effect.mapBoth(
          connection.run(
            (inbound) => deliver(!this.#known.isEmpty && mayHaveError(inbound) ? this.#inbound(inbound) : inbound),
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
 * arguments and environment variables, and those that an authorization gives. Use it for other secrets, such as those
 * of a URL, and for a transport of your own. An error of a failed connection shows the `description` in place of the
 * address.
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
): HiddenSecrets => new Hiding(secrets, description)
