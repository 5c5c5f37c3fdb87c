/** Constructors of events, and a weighted choice of event tags. */
import { type Handshake, Revision } from "@effect-mcp/protocol"
import * as Schema from "effect/Schema"
import { clientProfile, info, modernServerProfile, serverProfile } from "./states.ts"

/** Creates the `n`-th event of each tag. Its payload differs from that of every other event. */
export const constructors: { readonly [Tag in Handshake.EventTag]: (n: number) => Handshake.EventOf<Tag> } = {
  SendDiscover: () => ({ _tag: "SendDiscover" }),
  SendInitialize: () => ({ _tag: "SendInitialize", offer: Revision.latestLegacy }),
  SendInitializeResult: () => ({ _tag: "SendInitializeResult" }),
  SendPing: () => ({ _tag: "SendPing" }),
  SendRequest: () => ({ _tag: "SendRequest" }),
  SendNotification: () => ({ _tag: "SendNotification" }),
  Close: () => ({ _tag: "Close", reason: { _tag: "Requested" } }),
  ReceiveInitialize: (n) => ({
    _tag: "ReceiveInitialize",
    profile: { ...clientProfile, info: { ...info, title: `${n}` } }
  }),
  ReceiveInvalidInitialize: () => ({ _tag: "ReceiveInvalidInitialize" }),
  ReceiveDiscoverResult: (n) => ({
    _tag: "ReceiveDiscoverResult",
    profile: { ...modernServerProfile, instructions: `${n}` }
  }),
  ReceiveDiscoverFailure: (n) => ({
    _tag: "ReceiveDiscoverFailure",
    reason: { _tag: "HandshakeFailed", problem: `${n}` }
  }),
  ReceiveInitializeResult: (n) => ({
    _tag: "ReceiveInitializeResult",
    profile: { ...serverProfile, instructions: `${n}` }
  }),
  ReceiveInitializeFailure: (n) => ({
    _tag: "ReceiveInitializeFailure",
    reason: { _tag: "HandshakeFailed", problem: `${n}` }
  }),
  ReceiveInitialized: () => ({ _tag: "ReceiveInitialized" }),
  ReceivePing: () => ({ _tag: "ReceivePing" }),
  ReceiveRequest: () => ({ _tag: "ReceiveRequest" }),
  ReceiveLog: () => ({ _tag: "ReceiveLog" }),
  ReceiveNotification: () => ({ _tag: "ReceiveNotification" }),
  ReceiveResponse: () => ({ _tag: "ReceiveResponse" }),
  Timeout: (n) => ({ _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis: n } }),
  TransportEnded: (n) => ({ _tag: "TransportEnded", reason: { _tag: "TransportFailed", cause: n } }),
  Drained: () => ({ _tag: "Drained" })
}

const EventTag = Schema.Literals([
  "SendDiscover",
  "SendInitialize",
  "SendInitializeResult",
  "SendPing",
  "SendRequest",
  "SendNotification",
  "Close",
  "ReceiveInitialize",
  "ReceiveInvalidInitialize",
  "ReceiveDiscoverResult",
  "ReceiveDiscoverFailure",
  "ReceiveInitializeResult",
  "ReceiveInitializeFailure",
  "ReceiveInitialized",
  "ReceivePing",
  "ReceiveRequest",
  "ReceiveLog",
  "ReceiveNotification",
  "ReceiveResponse",
  "Timeout",
  "TransportEnded",
  "Drained"
])

export const tags: ReadonlyArray<Handshake.EventTag> = EventTag.literals

/**
 * The tags of a run. Tags that advance the handshake are drawn more often. Otherwise most runs would end before it.
 */
export const WeightedTag = Schema.Literals([
  ...tags,
  "SendInitialize",
  "SendInitialize",
  "SendInitializeResult",
  "SendInitializeResult",
  "ReceiveInitialize",
  "ReceiveInitialize",
  "ReceiveInitializeResult",
  "ReceiveInitializeResult",
  "ReceiveInitialized"
])

export const eventOf = (tag: Handshake.EventTag, n: number): Handshake.Event => constructors[tag](n)
