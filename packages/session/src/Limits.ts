/**
 * The limits of a session: its timeouts, and the bounds of its buffers.
 *
 * @stability unstable
 */
import * as Duration from "effect/Duration"
import * as NumericOption from "./internal/NumericOption.ts"

/**
 * Options for the limits of a session. Timeouts are durations; `"Infinity"` switches one off. Sizes are bytes of
 * memory, which are estimated: a parsed message takes more than its text.
 *
 * @category models
 */
export interface Options {
  /** The time that a request waits for its response, unless the call sets `timeout`. Default 60 seconds (TMO-02). */
  readonly requestTimeout?: Duration.Input
  /**
   * The time that a request waits in total if its progress extends its deadline, unless the call sets `totalTimeout`.
   * Default 1 hour (TMO-06).
   */
  readonly requestTotalTimeout?: Duration.Input
  /** The time that a client waits for the response to `initialize`. Default 30 seconds. */
  readonly handshakeTimeout?: Duration.Input
  /**
   * The time that a client waits for the response to `server/discover`, which it sends first if it supports a revision
   * without a handshake. Then it sends `initialize`, because some servers of older revisions stay silent. Over HTTP,
   * where silence says nothing about a server, and without an older revision in `revisions`, the client waits for
   * `handshakeTimeout`, and then fails. The client counts this time from the first byte that a child process writes.
   * After this time without a byte it sends `ping`; a process that does not answer gets `handshakeTimeout`. The client
   * also waits `handshakeTimeout` after the server has rejected `initialize` and named a revision without a handshake.
   * Default 5 seconds.
   */
  readonly discoverTimeout?: Duration.Input
  /**
   * The time that a server waits for `initialize`. Then the session closes as `HandshakeTimeout`. Default: no limit,
   * because a server that runs as a child process may wait for a user.
   */
  readonly initializeTimeout?: Duration.Input
  /** The time that handlers have to finish when the session ends. Then they are interrupted. Default 5 seconds. */
  readonly gracefulTimeout?: Duration.Input
  /**
   * The time that one message waits for a peer that reads nothing. Then the session closes as `PeerStalled`. If each
   * request has a stream of its own, only the stream closes (`StreamStalled`). Default 30 seconds.
   */
  readonly writeTimeout?: Duration.Input
  /** The number of messages waiting to be written at which the senders of notifications wait. Default 1,024. */
  readonly maxOutgoingMessages?: number
  /**
   * The memory, in bytes, of messages waiting to be written. Above it, senders of notifications wait, and one more
   * reply that has to wait closes the session as `RepliesOverflow`: its peer sends requests and does not read. The
   * estimate is rather too high: the characters of texts, and 64 bytes for each member of an object. Messages that the
   * transport takes at once do not count. Default 32 MiB. All sessions of a process share half of a `MemoryBudget` for
   * waiting messages.
   */
  readonly maxOutgoingBytes?: number
  /** The number of requests of the peer in flight. One more is rejected as `Overloaded`. Default 256. */
  readonly maxIncomingRequests?: number
  /**
   * The memory, in bytes, of requests of the peer in flight. A request that exceeds it is rejected as `Overloaded`.
   * Each array, object and member of parsed JSON is counted. Messages of a transport that carries no bytes are not.
   * Default 32 MiB. All sessions of a process share a `MemoryBudget` in addition.
   */
  readonly maxIncomingBytes?: number
  /**
   * The number of replies, rejections included, that wait to be written. One more closes the session as
   * `RepliesOverflow`. Default 16,384.
   */
  readonly maxOutgoingReplies?: number
  /** The number of steps of progress kept for a slow consumer of one request. The oldest is dropped. Default 256. */
  readonly maxProgressSteps?: number
  /**
   * The least time between two steps of progress that a handler sends. Steps in between are dropped, except the step
   * that reaches the total (PRG-06). Default: none are dropped.
   */
  readonly progressInterval?: Duration.Input
  /**
   * The number of notifications, messages or events kept for each slow consumer of them. The oldest is dropped. Default
   * 1,024.
   */
  readonly maxNotifications?: number
  /**
   * The memory, in bytes, of notifications or steps of progress kept for a slow consumer, counted as for
   * `maxIncomingBytes`. The oldest is dropped. Default 32 MiB.
   */
  readonly maxNotificationBytes?: number
  /**
   * The memory, in bytes, of the peer's info, capabilities and instructions, which the session keeps until its end. If
   * they take more, icons are dropped. If they still take more, the handshake fails. Default 16 KiB at a server, 256
   * KiB at a client.
   */
  readonly maxProfileBytes?: number
  /**
   * The number of output schemas of tools that a client with a validator remembers. The least recently used one is
   * dropped. Default 1,024.
   */
  readonly maxOutputSchemas?: number
  /**
   * The memory, in bytes, of the results that a client keeps for as long as its server allows, in revision 2026-07-28.
   * The least recently used ones are dropped; 0 keeps none. Set 0 if the headers of one connection name different
   * users. Default 8 MiB.
   */
  readonly maxKeptResultBytes?: number
  /**
   * The number of pages of one list that a client reads as a stream. One more fails the stream with `InvalidResult`. A
   * request for a single page is not counted. Default 10,000.
   */
  readonly maxPages?: number
  /**
   * The number of rounds in which one call may ask its client, in revision 2026-07-28 (MRTR-11). One more fails the
   * call: at the client as `InvalidResult`. A client answers a task in as many rounds. Default 16.
   */
  readonly maxRounds?: number
  /**
   * The number of streams of notifications (`subscriptions/listen` of revision 2026-07-28) that are open at a server
   * without sessions. No client may have more of them open than there is still room for. Default 10,000.
   */
  readonly maxListeners?: number
  /**
   * The characters of the sealed state of a call that asks its client, in revision 2026-07-28. It has all answers and
   * all results of `once`. A call that needs more fails; a longer `requestState` is rejected. Default 65,536.
   */
  readonly maxRequestStateCharacters?: number
  /** The number of messages in a batch (2025-03-26). A larger batch is rejected with one error. Default 100. */
  readonly maxBatchMessages?: number
  /** The number of errors sent per second in reply to unreadable or malformed frames. Default 10. */
  readonly maxMalformedRepliesPerSecond?: number
}

/**
 * All limits of a session. Timeouts are milliseconds; `Infinity` means no limit.
 *
 * @category models
 */
export interface Limits {
  readonly requestTimeout: number
  readonly requestTotalTimeout: number
  readonly handshakeTimeout: number
  readonly discoverTimeout: number
  readonly initializeTimeout: number
  readonly gracefulTimeout: number
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
  readonly maxKeptResultBytes: number
  readonly maxPages: number
  readonly maxRounds: number
  readonly maxListeners: number
  readonly maxRequestStateCharacters: number
  readonly maxBatchMessages: number
  readonly maxMalformedRepliesPerSecond: number
}

const { count, countFromZero, duration } = NumericOption

const settings: NumericOption.Settings<Options> = {
  requestTimeout: [duration, "60 seconds"],
  requestTotalTimeout: [duration, "1 hour"],
  handshakeTimeout: [duration, "30 seconds"],
  discoverTimeout: [duration, "5 seconds"],
  initializeTimeout: [duration, Duration.infinity],
  gracefulTimeout: [duration, "5 seconds"],
  writeTimeout: [duration, "30 seconds"],
  maxOutgoingMessages: [countFromZero, 1024],
  maxOutgoingBytes: [countFromZero, 32 * 1024 * 1024],
  maxIncomingRequests: [count, 256],
  maxIncomingBytes: [count, 32 * 1024 * 1024],
  maxOutgoingReplies: [countFromZero, 16_384],
  maxProgressSteps: [count, 256],
  progressInterval: [duration, 0],
  maxNotifications: [count, 1024],
  maxNotificationBytes: [countFromZero, 32 * 1024 * 1024],
  maxProfileBytes: [countFromZero, 16 * 1024],
  maxOutputSchemas: [countFromZero, 1024],
  maxKeptResultBytes: [countFromZero, 8 * 1024 * 1024],
  maxPages: [count, 10_000],
  maxRounds: [count, 16],
  maxListeners: [countFromZero, 10_000],
  maxRequestStateCharacters: [count, 65_536],
  maxBatchMessages: [count, 100],
  maxMalformedRepliesPerSecond: [countFromZero, 10]
}

/**
 * Returns all limits: the options, and the defaults of the others. Throws an `InvalidOptionError` for a number that
 * makes no sense.
 *
 * @example
 * ```ts
 * import { Limits } from "@effect-mcp/session"
 *
 * export const millis = Limits.make({ requestTimeout: "5 seconds" }).requestTimeout // => 5000
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Limits => NumericOption.resolve(options, settings, "limits.")
