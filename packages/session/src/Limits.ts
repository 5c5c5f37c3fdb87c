/**
 * The limits of a session: how long it waits, and how much it holds.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as NumericOption from "./NumericOption.ts"

/**
 * What may be set; everything has a default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How long a request waits for its response, unless the call says otherwise. Default 60 seconds (TMO-02). */
  readonly requestDeadline?: Duration.Input
  /**
   * How long a request waits at the very most whose deadline its progress puts off, unless the call says otherwise. Default 1 hour
   * (TMO-06).
   */
  readonly requestTotal?: Duration.Input
  /** How long a client waits for the answer to `initialize`. Default 30 seconds. */
  readonly handshake?: Duration.Input
  /** How long a server waits for `initialize`; then it closes. Default: for ever, as a child process should. */
  readonly opening?: Duration.Input
  /** How long handlers may go on when the session ends. Default 5 seconds. */
  readonly gracefulClose?: Duration.Input
  /** How long one message may wait for a peer that takes no bytes; then the session closes as stalled. Default 30 seconds. */
  readonly write?: Duration.Input
  /** How many messages may wait to be written before the senders of notifications wait too. Default 1,024. */
  readonly outgoing?: number
  /**
   * The memory, in bytes, that messages may take while they wait to be written. While they take more, senders of
   * notifications wait, and one more reply closes the session: the peer goes on asking and does not read. It is
   * estimated, and rather too high: by the characters of texts, and 64 bytes for each member of an object. Messages
   * that the transport takes at once do not count. Default 32 MiB, as for what comes in. All sessions of a process
   * share half of a `MemoryBudget` for what waits.
   */
  readonly outgoingBytes?: number
  /** How many requests of the peer are served at the same time; one more is answered `Overloaded`. Default 256. */
  readonly incoming?: number
  /**
   * How many bytes of memory the requests of the peer that are served at the same time may take; one more is answered
   * `Overloaded`. Parsed JSON takes more than its text: each array, object and member is counted. Messages of a
   * transport that carries no bytes are not counted. Default 32 MiB. All sessions of a process share a `MemoryBudget`
   * besides.
   */
  readonly incomingBytes?: number
  /** How many replies, refusals included, may wait for a peer that goes on asking; then the session closes. Default 16,384. */
  readonly replies?: number
  /** How many steps of progress are kept for a slow consumer of one request; the oldest makes room. Default 256. */
  readonly progress?: number
  /**
   * How long a handler's request is silent at least between two steps of its progress; steps in between are dropped, but for
   * the one that reaches the total (PRG-06). Default: none are.
   */
  readonly progressInterval?: Duration.Input
  /**
   * How many notifications, messages or events are kept for each slow consumer of such; the oldest makes room. Default 1,024.
   */
  readonly notifications?: number
  /**
   * How many bytes of memory the notifications or steps of progress that are kept for a slow consumer may take, counted
   * as those of requests are; the oldest makes room. Default 32 MiB.
   */
  readonly notificationBytes?: number
  /**
   * How many bytes of memory the peer's info, capabilities and instructions may take, which are kept for as long as the
   * session. If they take more, icons are dropped; if they still do, the handshake fails. Default 16 KiB at a server,
   * 256 KiB at a client.
   */
  readonly profileBytes?: number
  /** How many tools' output schemas a client with a validator remembers; the one not used for longest makes room. Default 1,024. */
  readonly outputSchemas?: number
  /**
   * How many pages of one list a client reads as a stream; one more fails the stream with `InvalidResult`. Default
   * 10,000. A single request for a page is not counted.
   */
  readonly pages?: number
  /** How many messages a batch may hold (2025-03-26); one with more is answered with one error. Default 100. */
  readonly batch?: number
  /** How many unreadable or malformed frames are answered per second. Default 10. */
  readonly malformedReplies?: number
}

/**
 * Every limit, with durations in milliseconds; `Infinity` where there is none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  readonly requestDeadline: number
  readonly requestTotal: number
  readonly handshake: number
  readonly opening: number
  readonly gracefulClose: number
  readonly write: number
  readonly outgoing: number
  readonly outgoingBytes: number
  readonly incoming: number
  readonly incomingBytes: number
  readonly replies: number
  readonly progress: number
  readonly progressInterval: number
  readonly notifications: number
  readonly notificationBytes: number
  readonly profileBytes: number
  readonly outputSchemas: number
  readonly pages: number
  readonly batch: number
  readonly malformedReplies: number
}

const { count, countFromZero, duration } = NumericOption

const rules: NumericOption.Rules<Options> = {
  requestDeadline: duration,
  requestTotal: duration,
  handshake: duration,
  opening: duration,
  gracefulClose: duration,
  write: duration,
  outgoing: countFromZero,
  outgoingBytes: countFromZero,
  incoming: count,
  incomingBytes: count,
  replies: countFromZero,
  progress: count,
  progressInterval: duration,
  notifications: count,
  notificationBytes: countFromZero,
  profileBytes: countFromZero,
  outputSchemas: countFromZero,
  pages: count,
  batch: count,
  malformedReplies: countFromZero
}

/**
 * Fills in the defaults. Throws an `InvalidOption` for a number that makes no sense.
 *
 * @example
 * ```ts
 * import { Limits } from "@effect-mcp/session"
 *
 * export const deadline = Limits.make({ requestDeadline: "5 seconds" }).requestDeadline // => 5000
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Limits => {
  NumericOption.check(options, rules, "limits.")
  return complete(options)
}

const complete = (options: Options): Limits => ({
  requestDeadline: Duration.toMillis(options.requestDeadline ?? "60 seconds"),
  requestTotal: Duration.toMillis(options.requestTotal ?? "1 hour"),
  handshake: Duration.toMillis(options.handshake ?? "30 seconds"),
  opening: Duration.toMillis(options.opening ?? Duration.infinity),
  gracefulClose: Duration.toMillis(options.gracefulClose ?? "5 seconds"),
  write: Duration.toMillis(options.write ?? "30 seconds"),
  outgoing: options.outgoing ?? 1024,
  outgoingBytes: options.outgoingBytes ?? 32 * 1024 * 1024,
  incoming: options.incoming ?? 256,
  incomingBytes: options.incomingBytes ?? 32 * 1024 * 1024,
  replies: options.replies ?? 16_384,
  progress: options.progress ?? 256,
  progressInterval: Duration.toMillis(options.progressInterval ?? 0),
  notifications: options.notifications ?? 1024,
  notificationBytes: options.notificationBytes ?? 32 * 1024 * 1024,
  profileBytes: options.profileBytes ?? 16 * 1024,
  outputSchemas: options.outputSchemas ?? 1024,
  pages: options.pages ?? 10_000,
  batch: options.batch ?? 100,
  malformedReplies: options.malformedReplies ?? 10
})
