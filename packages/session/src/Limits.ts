/**
 * The limits of a session: how long it waits, and how much it holds.
 */
import * as Duration from "effect/Duration"
import * as NumericOption from "./NumericOption.ts"

/**
 * What may be set; everything has a default.
 *
 * @category models
 */
export interface Options {
  /** How long a request waits for its response, unless the call says otherwise. Default 60 seconds (TMO-02). */
  readonly requestTimeout?: Duration.Input
  /**
   * How long a request waits at the very most whose deadline its progress puts off, unless the call says otherwise. Default 1 hour
   * (TMO-06).
   */
  readonly requestTotalTimeout?: Duration.Input
  /** How long a client waits for the answer to `initialize`. Default 30 seconds. */
  readonly handshakeTimeout?: Duration.Input
  /** How long a server waits for `initialize`; then it closes. Default: for ever, as a child process should. */
  readonly initializeTimeout?: Duration.Input
  /** How long handlers may go on when the session ends. Default 5 seconds. */
  readonly gracefulCloseTimeout?: Duration.Input
  /** How long one message may wait for a peer that takes no bytes; then the session closes as stalled. Default 30 seconds. */
  readonly writeTimeout?: Duration.Input
  /** How many messages may wait to be written before the senders of notifications wait too. Default 1,024. */
  readonly maxOutgoingMessages?: number
  /**
   * The memory, in bytes, that messages may take while they wait to be written. While they take more, senders of
   * notifications wait, and one more reply closes the session: the peer goes on asking and does not read. It is
   * estimated, and rather too high: by the characters of texts, and 64 bytes for each member of an object. Messages
   * that the transport takes at once do not count. Default 32 MiB, as for what comes in. All sessions of a process
   * share half of a `MemoryBudget` for what waits.
   */
  readonly maxOutgoingBytes?: number
  /** How many requests of the peer are served at the same time; one more is answered `Overloaded`. Default 256. */
  readonly maxIncomingRequests?: number
  /**
   * How many bytes of memory the requests of the peer that are served at the same time may take; one more is answered
   * `Overloaded`. Parsed JSON takes more than its text: each array, object and member is counted. Messages of a
   * transport that carries no bytes are not counted. Default 32 MiB. All sessions of a process share a `MemoryBudget`
   * besides.
   */
  readonly maxIncomingBytes?: number
  /** How many replies, refusals included, may wait for a peer that goes on asking; then the session closes. Default 16,384. */
  readonly maxOutgoingReplies?: number
  /** How many steps of progress are kept for a slow consumer of one request; the oldest makes room. Default 256. */
  readonly maxProgressSteps?: number
  /**
   * How long a handler's request is silent at least between two steps of its progress; steps in between are dropped, but for
   * the one that reaches the total (PRG-06). Default: none are.
   */
  readonly progressInterval?: Duration.Input
  /**
   * How many notifications, messages or events are kept for each slow consumer of such; the oldest makes room. Default 1,024.
   */
  readonly maxNotifications?: number
  /**
   * How many bytes of memory the notifications or steps of progress that are kept for a slow consumer may take, counted
   * as those of requests are; the oldest makes room. Default 32 MiB.
   */
  readonly maxNotificationBytes?: number
  /**
   * How many bytes of memory the peer's info, capabilities and instructions may take, which are kept for as long as the
   * session. If they take more, icons are dropped; if they still do, the handshake fails. Default 16 KiB at a server,
   * 256 KiB at a client.
   */
  readonly maxProfileBytes?: number
  /** How many tools' output schemas a client with a validator remembers; the one not used for longest makes room. Default 1,024. */
  readonly maxOutputSchemas?: number
  /**
   * How many pages of one list a client reads as a stream; one more fails the stream with `InvalidResult`. Default
   * 10,000. A single request for a page is not counted.
   */
  readonly maxPages?: number
  /** How many messages a batch may hold (2025-03-26); one with more is answered with one error. Default 100. */
  readonly maxBatchMessages?: number
  /** How many unreadable or malformed frames are answered per second. Default 10. */
  readonly maxMalformedRepliesPerSecond?: number
}

/**
 * Every limit, with durations in milliseconds; `Infinity` where there is none.
 *
 * @category models
 */
export interface Limits {
  readonly requestTimeout: number
  readonly requestTotalTimeout: number
  readonly handshakeTimeout: number
  readonly initializeTimeout: number
  readonly gracefulCloseTimeout: number
  readonly writeTimeout: number
  readonly maxOutgoingMessages: number
  readonly maxOutgoingBytes: number
  readonly maxIncomingRequests: number
  readonly maxIncomingBytes: number
  readonly maxOutgoingReplies: number
  readonly maxProgressSteps: number
  readonly progressInterval: number
  readonly maxNotifications: number
  readonly maxNotificationBytes: number
  readonly maxProfileBytes: number
  readonly maxOutputSchemas: number
  readonly maxPages: number
  readonly maxBatchMessages: number
  readonly maxMalformedRepliesPerSecond: number
}

const { count, countFromZero, duration } = NumericOption

const rules: NumericOption.Rules<Options> = {
  requestTimeout: duration,
  requestTotalTimeout: duration,
  handshakeTimeout: duration,
  initializeTimeout: duration,
  gracefulCloseTimeout: duration,
  writeTimeout: duration,
  maxOutgoingMessages: countFromZero,
  maxOutgoingBytes: countFromZero,
  maxIncomingRequests: count,
  maxIncomingBytes: count,
  maxOutgoingReplies: countFromZero,
  maxProgressSteps: count,
  progressInterval: duration,
  maxNotifications: count,
  maxNotificationBytes: countFromZero,
  maxProfileBytes: countFromZero,
  maxOutputSchemas: countFromZero,
  maxPages: count,
  maxBatchMessages: count,
  maxMalformedRepliesPerSecond: countFromZero
}

/**
 * Fills in the defaults. Throws an `InvalidOption` for a number that makes no sense.
 *
 * @example
 * ```ts
 * import { Limits } from "@effect-mcp/session"
 *
 * export const deadline = Limits.make({ requestTimeout: "5 seconds" }).requestTimeout // => 5000
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Limits => {
  NumericOption.check(options, rules, "limits.")
  return complete(options)
}

const complete = (options: Options): Limits => ({
  requestTimeout: Duration.toMillis(options.requestTimeout ?? "60 seconds"),
  requestTotalTimeout: Duration.toMillis(options.requestTotalTimeout ?? "1 hour"),
  handshakeTimeout: Duration.toMillis(options.handshakeTimeout ?? "30 seconds"),
  initializeTimeout: Duration.toMillis(options.initializeTimeout ?? Duration.infinity),
  gracefulCloseTimeout: Duration.toMillis(options.gracefulCloseTimeout ?? "5 seconds"),
  writeTimeout: Duration.toMillis(options.writeTimeout ?? "30 seconds"),
  maxOutgoingMessages: options.maxOutgoingMessages ?? 1024,
  maxOutgoingBytes: options.maxOutgoingBytes ?? 32 * 1024 * 1024,
  maxIncomingRequests: options.maxIncomingRequests ?? 256,
  maxIncomingBytes: options.maxIncomingBytes ?? 32 * 1024 * 1024,
  maxOutgoingReplies: options.maxOutgoingReplies ?? 16_384,
  maxProgressSteps: options.maxProgressSteps ?? 256,
  progressInterval: Duration.toMillis(options.progressInterval ?? 0),
  maxNotifications: options.maxNotifications ?? 1024,
  maxNotificationBytes: options.maxNotificationBytes ?? 32 * 1024 * 1024,
  maxProfileBytes: options.maxProfileBytes ?? 16 * 1024,
  maxOutputSchemas: options.maxOutputSchemas ?? 1024,
  maxPages: options.maxPages ?? 10_000,
  maxBatchMessages: options.maxBatchMessages ?? 100,
  maxMalformedRepliesPerSecond: options.maxMalformedRepliesPerSecond ?? 10
})
