/** The transitions of each side, one row for each legal pair of a state and an event. */
import type { CloseReason } from "../../CloseReason.ts"
import type { ActionsBySource } from "./actions.ts"
import type { Event, eventSources, EventTag } from "./events.ts"
import * as StateMachine from "./StateMachine.ts"
import type { ClientState, Closed, Closing, ServerState, StatelessServerState } from "./states.ts"

/** The actions that a row of each event may have. */
type AllowedActions = { readonly [Tag in EventTag]: ActionsBySource[(typeof eventSources)[Tag]] }

const { stay } = StateMachine

/** Starts to end the session, with the reason of the event. */
const end = {
  to: "Closing",
  action: "End",
  next: (_state: unknown, { reason }: { readonly reason: CloseReason }): Closing => ({ _tag: "Closing", reason })
} as const

/** Ends a session that is not established yet, with the reason of the event. */
const abort = {
  to: "Closed",
  action: "Finish",
  next: (_state: unknown, { reason }: { readonly reason: CloseReason }): Closed => ({ _tag: "Closed", reason })
} as const

/** Ends the session, with the reason that `Closing` holds. */
const finish = {
  to: "Closed",
  action: "Finish",
  next: ({ reason }: Closing): Closed => ({ _tag: "Closed", reason })
} as const

/** The rows of a session that is ending, on either side. */
const closing = {
  SendNotification: stay("Send"),
  ReceivePing: stay("Answer"),
  ReceiveRequest: stay("Reject"),
  ReceiveNotification: stay("Ignore"),
  ReceiveResponse: stay("Match"),
  Close: stay("Ignore"),
  TransportEnded: stay("Ignore"),
  Drained: finish
} as const

/** The rows of a server's session that is ending. */
const serverClosing = {
  ...closing,
  ReceiveInitialize: stay("Reject"),
  ReceiveInvalidInitialize: stay("Reject"),
  ReceiveInitialized: stay("Ignore")
} as const

/** Sends `initialize`: at first, or after a probe that found no server without a handshake. */
const initialize = {
  to: "Initializing",
  action: "Send",
  next: (_state: unknown, { offer }: Extract<Event, { readonly _tag: "SendInitialize" }>) =>
    ({ _tag: "Initializing", offer }) as const
} as const

/** The rows of a client's session. */
export const clientRows = StateMachine.rowsOf<ClientState, Event, AllowedActions>()({
  Idle: {
    SendDiscover: { to: "Probing", action: "Send", next: () => ({ _tag: "Probing" }) },
    SendInitialize: initialize,
    Close: abort,
    TransportEnded: abort
  },
  Probing: {
    // A second one names another revision, after the server has rejected the first.
    SendDiscover: stay("Send"),
    // Asks a peer that has written nothing whether it has started.
    SendPing: stay("Send"),
    SendInitialize: initialize,
    ReceiveDiscoverResult: {
      to: "Modern",
      action: "Adopt",
      next: (_, { profile }) => ({ _tag: "Modern", profile })
    },
    ReceiveDiscoverFailure: abort,
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Reject"),
    ReceiveLog: stay("Keep"),
    ReceiveNotification: stay("Ignore"),
    ReceiveResponse: stay("Match"),
    Close: abort,
    Timeout: abort,
    TransportEnded: abort
  },
  Initializing: {
    SendPing: stay("Send"),
    ReceiveInitializeResult: {
      to: "Operating",
      action: "Establish",
      next: (_, { profile }) => ({ _tag: "Operating", profile })
    },
    ReceiveInitializeFailure: abort,
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Reject"),
    ReceiveLog: stay("Keep"),
    ReceiveNotification: stay("Ignore"),
    ReceiveResponse: stay("Match"),
    Close: abort,
    Timeout: abort,
    TransportEnded: abort
  },
  Operating: {
    SendPing: stay("Send"),
    SendRequest: stay("Send"),
    SendNotification: stay("Send"),
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Deliver"),
    ReceiveLog: stay("Deliver"),
    ReceiveNotification: stay("Deliver"),
    ReceiveResponse: stay("Match"),
    Close: end,
    TransportEnded: end
  },
  Modern: {
    SendRequest: stay("Send"),
    ReceivePing: stay("Ignore"),
    ReceiveRequest: stay("Ignore"),
    ReceiveLog: stay("Deliver"),
    ReceiveNotification: stay("Deliver"),
    ReceiveResponse: stay("Match"),
    Close: end,
    TransportEnded: end
  },
  Closing: { ...closing, ReceiveLog: stay("Ignore") },
  Closed: {}
})

/** The rows of a server's session. */
export const serverRows = StateMachine.rowsOf<ServerState, Event, AllowedActions>()({
  AwaitingInitialize: {
    SendPing: stay("Send"),
    SendRequest: stay("Hold"),
    ReceiveInitialize: {
      to: "Initializing",
      action: "Answer",
      next: (_, { profile }) => ({ _tag: "Initializing", profile })
    },
    ReceiveInvalidInitialize: stay("RejectParams"),
    ReceiveInitialized: stay("Ignore"),
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Reject"),
    ReceiveNotification: stay("Ignore"),
    ReceiveResponse: stay("Match"),
    Close: abort,
    Timeout: abort,
    TransportEnded: abort
  },
  Initializing: {
    SendInitializeResult: {
      to: "Negotiated",
      action: "Send",
      next: ({ profile }) => ({ _tag: "Negotiated", profile })
    },
    Close: abort,
    TransportEnded: abort
  },
  Negotiated: {
    SendPing: stay("Send"),
    SendRequest: stay("Hold"),
    SendNotification: stay("Send"),
    ReceiveInitialize: stay("Reject"),
    ReceiveInvalidInitialize: stay("Reject"),
    ReceiveInitialized: {
      to: "Operating",
      action: "Release",
      next: ({ profile }) => ({ _tag: "Operating", profile })
    },
    ReceivePing: stay("Answer"),
    ReceiveRequest: {
      to: "Operating",
      action: "ReleaseAndDeliver",
      next: ({ profile }) => ({ _tag: "Operating", profile })
    },
    ReceiveNotification: stay("Deliver"),
    ReceiveResponse: stay("Match"),
    Close: end,
    TransportEnded: end
  },
  Operating: {
    SendPing: stay("Send"),
    SendRequest: stay("Send"),
    SendNotification: stay("Send"),
    ReceiveInitialize: stay("Reject"),
    ReceiveInvalidInitialize: stay("Reject"),
    ReceiveInitialized: stay("Ignore"),
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Deliver"),
    ReceiveNotification: stay("Deliver"),
    ReceiveResponse: stay("Match"),
    Close: end,
    TransportEnded: end
  },
  Closing: serverClosing,
  Closed: {}
})

/** The rows under the strict policy: a request does not replace `notifications/initialized`. */
export const strictServerRows = StateMachine.rowsOf<ServerState, Event, AllowedActions>()({
  ...serverRows,
  Negotiated: { ...serverRows.Negotiated, ReceiveRequest: stay("Reject") }
})

/** The rows of a server without sessions. */
export const statelessServerRows = StateMachine.rowsOf<StatelessServerState, Event, AllowedActions>()({
  Stateless: {
    SendInitializeResult: stay("Send"),
    SendNotification: stay("Send"),
    ReceiveInitialize: stay("Answer"),
    ReceiveInvalidInitialize: stay("RejectParams"),
    ReceiveInitialized: stay("Ignore"),
    ReceivePing: stay("Answer"),
    ReceiveRequest: stay("Deliver"),
    ReceiveNotification: stay("Deliver"),
    ReceiveResponse: stay("Match"),
    Close: end,
    TransportEnded: end
  },
  Closing: serverClosing,
  Closed: {}
})
