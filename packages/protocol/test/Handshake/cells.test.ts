/** The requirements of the specification, cell by cell. */
import { Handshake } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"

interface Cell {
  readonly test: string
  readonly on: ReadonlyArray<keyof typeof machines>
  readonly from: ReadonlyArray<string>
  readonly events: ReadonlyArray<Handshake.EventTag>
  /** The action, and the next state if it is another one. `undefined`: there is no row. */
  readonly action: Handshake.Action | undefined
  readonly to?: string
}

const machines = {
  client: Handshake.client.rows,
  server: Handshake.server.rows,
  strictServer: Handshake.strictServer.rows,
  statelessServer: Handshake.statelessServer.rows
}

const servers = ["server", "strictServer"] as const
const open = ["AwaitingInitialize", "Negotiated", "Operating"] as const

const cells: ReadonlyArray<Cell> = [
  {
    test: "[INIT-01] the first message of a client is initialize",
    on: ["client"],
    from: ["Idle"],
    events: ["SendInitialize"],
    action: "Send",
    to: "Initializing"
  },
  {
    test: "[INIT-01] a client sends nothing else before initialize",
    on: ["client"],
    from: ["Idle"],
    events: ["SendPing", "SendRequest", "SendNotification"],
    action: undefined
  },
  {
    test: "[INIT-01] a client sends initialize only once",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing", "Closed"],
    events: ["SendInitialize"],
    action: undefined
  },
  {
    test: "[INIT-09] a client may send ping before the initialize response",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendPing"],
    action: "Send"
  },
  {
    test:
      "[INIT-09] [CAN-02] a client sends no other request and no notification before the initialize response, and so" +
      " cannot cancel initialize",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendRequest", "SendNotification"],
    action: undefined
  },
  {
    test: "[INIT-08] a client sends notifications/initialized after the initialize response",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveInitializeResult"],
    action: "Establish",
    to: "Operating"
  },
  {
    test: "[INIT-10] a client rejects requests before the initialize response",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "[INIT-10] a client keeps log messages that arrive before the initialize response",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveLog"],
    action: "Keep"
  },
  {
    test: "[INIT-10] a client ignores other notifications before the initialize response",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveNotification"],
    action: "Ignore"
  },
  {
    test: "a client delivers log messages while the session operates",
    on: ["client"],
    from: ["Operating"],
    events: ["ReceiveLog"],
    action: "Deliver"
  },
  {
    test: "a server has no row for log messages",
    on: [...servers, "statelessServer"],
    from: ["AwaitingInitialize", "Initializing", "Negotiated", "Operating", "Stateless", "Closing", "Closed"],
    events: ["ReceiveLog"],
    action: undefined
  },
  {
    test: "[PING-01] a client answers ping in every state in which the server may send one",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing"],
    events: ["ReceivePing"],
    action: "Answer"
  },
  {
    test: "[PING-01] a server answers ping in every open state",
    on: servers,
    from: [...open, "Closing"],
    events: ["ReceivePing"],
    action: "Answer"
  },
  {
    test: "[INIT-04] [INIT-07] a server answers initialize",
    on: servers,
    from: ["AwaitingInitialize"],
    events: ["ReceiveInitialize"],
    action: "Answer",
    to: "Initializing"
  },
  {
    test: "[INIT-02] a server rejects an initialize with invalid params, and waits for another",
    on: servers,
    from: ["AwaitingInitialize"],
    events: ["ReceiveInvalidInitialize"],
    action: "RejectParams"
  },
  {
    test: "[INIT-01] a server rejects requests before initialize",
    on: servers,
    from: ["AwaitingInitialize"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "[INIT-01] [MSG-12] a server ignores notifications before initialize",
    on: servers,
    from: ["AwaitingInitialize"],
    events: ["ReceiveNotification", "ReceiveInitialized"],
    action: "Ignore"
  },
  {
    test: "[INIT-07] a server is negotiated when it sends its initialize response",
    on: servers,
    from: ["Initializing"],
    events: ["SendInitializeResult"],
    action: "Send",
    to: "Negotiated"
  },
  {
    test: "[INIT-10] a server holds its requests, except ping, until the client is initialized",
    on: servers,
    from: ["AwaitingInitialize", "Negotiated"],
    events: ["SendRequest"],
    action: "Hold"
  },
  {
    test: "[INIT-10] a server may send ping before the client is initialized",
    on: servers,
    from: open,
    events: ["SendPing"],
    action: "Send"
  },
  {
    test: "[INIT-10] log messages are not held",
    on: servers,
    from: ["Negotiated", "Operating"],
    events: ["SendNotification"],
    action: "Send"
  },
  {
    test: "[INIT-08] held requests are sent after notifications/initialized",
    on: servers,
    from: ["Negotiated"],
    events: ["ReceiveInitialized"],
    action: "Release",
    to: "Operating"
  },
  {
    test: "[INIT-08] the first request of the client has the same effect",
    on: ["server"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    action: "ReleaseAndDeliver",
    to: "Operating"
  },
  {
    test: "[INIT-08] the strict policy rejects a request before notifications/initialized",
    on: ["strictServer"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "[INIT-01] a server rejects a second initialize, whatever its params",
    on: servers,
    from: ["Negotiated", "Operating", "Closing"],
    events: ["ReceiveInitialize", "ReceiveInvalidInitialize"],
    action: "Reject"
  },
  {
    test: "[INIT-08] a second notifications/initialized is ignored",
    on: servers,
    from: ["Operating", "Closing"],
    events: ["ReceiveInitialized"],
    action: "Ignore"
  },
  {
    test: "requests and notifications are delivered while the session operates",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["ReceiveRequest", "ReceiveNotification"],
    action: "Deliver"
  },
  {
    test: "[MSG-07] responses are matched while the session operates and while it closes",
    on: ["client", "server", "strictServer"],
    from: ["Operating", "Closing"],
    events: ["ReceiveResponse"],
    action: "Match"
  },
  {
    test: "a closing session rejects requests",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "a closing session sends no requests",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["SendRequest", "SendPing", "SendInitialize"],
    action: undefined
  },
  {
    test: "a closing session is closed when no request is in flight",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["Drained"],
    action: "Finish",
    to: "Closed"
  },
  {
    test: "an operating session ends on close and at the end of the transport",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["Close", "TransportEnded"],
    action: "End",
    to: "Closing"
  },
  {
    test: "a server without sessions delivers requests and notifications without a handshake",
    on: ["statelessServer"],
    from: ["Stateless"],
    events: ["ReceiveRequest", "ReceiveNotification"],
    action: "Deliver"
  },
  {
    test: "[INIT-04] a server without sessions answers every initialize",
    on: ["statelessServer"],
    from: ["Stateless"],
    events: ["ReceiveInitialize"],
    action: "Answer"
  },
  {
    test: "a server without sessions sends no requests, not even ping",
    on: ["statelessServer"],
    from: ["Stateless", "Closing", "Closed"],
    events: ["SendRequest", "SendPing"],
    action: undefined
  },
  {
    test: "a server without sessions ends on close and at the end of the transport",
    on: ["statelessServer"],
    from: ["Stateless"],
    events: ["Close", "TransportEnded"],
    action: "End",
    to: "Closing"
  }
]

describe.each(cells)("$test", ({ action, events, from, on, to }) => {
  it.each(on.flatMap((name) => from.flatMap((state) => events.map((event) => [name, state, event] as const))))(
    "%s: %s × %s",
    (name, state, event) => {
      const row = machines[name][state]?.[event]
      assert.strictEqual(row?.action, action)
      if (row !== undefined) assert.strictEqual(row.to, to ?? "same")
    }
  )
})

it.each(
  [
    ["client", "Idle", ["TransportEnded", "Close"]],
    ["client", "Initializing", ["ReceiveInitializeFailure", "Timeout", "TransportEnded", "Close"]],
    ["server", "AwaitingInitialize", ["Timeout", "TransportEnded", "Close"]],
    ["server", "Initializing", ["TransportEnded", "Close"]]
  ] as const
)("[INIT-06] [INIT-16] a failed handshake ends the session: %s, %s", (name, state, events) => {
  for (const event of events) {
    const row = machines[name][state]?.[event]
    assert.include(["Closing", "Closed"], row?.to, event)
    assert.strictEqual(row?.action, row?.to === "Closed" ? "Finish" : "End", event)
  }
})

it("[INIT-08] the strict server differs from the server in one cell", () => {
  const { Negotiated: strict, ...strictRest } = Handshake.strictServer.rows
  const { Negotiated: lax, ...laxRest } = Handshake.server.rows
  assert.deepStrictEqual(strictRest, laxRest)
  assert.deepStrictEqual({ ...strict, ReceiveRequest: undefined }, { ...lax, ReceiveRequest: undefined })
})
