/** What the specification asks for, cell by cell. */
import { Handshake } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"

interface Cell {
  readonly test: string
  readonly on: ReadonlyArray<keyof typeof machines>
  readonly from: ReadonlyArray<string>
  readonly events: ReadonlyArray<Handshake.EventTag>
  /** What is done, and the state that follows if it is another. `undefined`: there is no row. */
  readonly action: Handshake.Action | undefined
  readonly to?: string
}

const machines = {
  client: Handshake.client.rows,
  server: Handshake.server.rows,
  strictServer: Handshake.strictServer.rows,
  sessionlessServer: Handshake.sessionlessServer.rows
}

const servers = ["server", "strictServer"] as const
const open = ["AwaitingInitialize", "Negotiated", "Operating"] as const

const cells: ReadonlyArray<Cell> = [
  {
    test: "[INIT-01] a client opens with initialize, once",
    on: ["client"],
    from: ["Idle"],
    events: ["SendInitialize"],
    action: "Send",
    to: "Initializing"
  },
  {
    test: "[INIT-01] a client sends nothing before initialize",
    on: ["client"],
    from: ["Idle"],
    events: ["SendPing", "SendRequest", "SendNotification"],
    action: undefined
  },
  {
    test: "[INIT-01] a client does not initialize again",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing", "Closed"],
    events: ["SendInitialize"],
    action: undefined
  },
  {
    test: "[INIT-09] until it is answered, a client sends ping and nothing else",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendPing"],
    action: "Send"
  },
  {
    test:
      "[INIT-09] [CAN-02] a client that waits for the answer neither asks nor tells, and so cannot cancel initialize",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendRequest", "SendNotification"],
    action: undefined
  },
  {
    test: "[INIT-08] a client says that it is initialized when the answer has come",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveInitializeResult"],
    action: "Establish",
    to: "Operating"
  },
  {
    test: "[INIT-10] a client that waits for the answer refuses requests",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "[INIT-10] a client that waits for the answer keeps log messages",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveLog"],
    action: "Keep"
  },
  {
    test: "[INIT-10] a client that waits for the answer ignores other notifications",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveNotification"],
    action: "Ignore"
  },
  {
    test: "a client takes log messages while the session operates",
    on: ["client"],
    from: ["Operating"],
    events: ["ReceiveLog"],
    action: "Deliver"
  },
  {
    test: "log messages are for clients only",
    on: [...servers, "sessionlessServer"],
    from: ["AwaitingInitialize", "Initializing", "Negotiated", "Operating", "Sessionless", "Closing", "Closed"],
    events: ["ReceiveLog"],
    action: undefined
  },
  {
    test: "[PING-01] ping is answered whenever the peer may have sent one",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing"],
    events: ["ReceivePing"],
    action: "Answer"
  },
  {
    test: "[PING-01] ping is answered at any time",
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
    test: "[INIT-02] a server refuses params that do not fit, and still waits for better ones",
    on: servers,
    from: ["AwaitingInitialize"],
    events: ["ReceiveInvalidInitialize"],
    action: "RejectParams"
  },
  {
    test: "[INIT-01] a server refuses requests before initialize",
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
    test: "[INIT-07] a server has negotiated as soon as its answer is on its way",
    on: servers,
    from: ["Initializing"],
    events: ["SendInitializeResult"],
    action: "Send",
    to: "Negotiated"
  },
  {
    test: "[INIT-10] a server holds its requests, other than ping, until the client is ready",
    on: servers,
    from: ["AwaitingInitialize", "Negotiated"],
    events: ["SendRequest"],
    action: "Hold"
  },
  {
    test: "[INIT-10] a server may ping before the client is ready",
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
    test: "[INIT-08] what was held goes out when the client says that it is initialized",
    on: servers,
    from: ["Negotiated"],
    events: ["ReceiveInitialized"],
    action: "Release",
    to: "Operating"
  },
  {
    test: "[INIT-08] a first request says the same",
    on: ["server"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    action: "ReleaseAndDeliver",
    to: "Operating"
  },
  {
    test: "[INIT-08] except under the strict policy, which refuses it",
    on: ["strictServer"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "[INIT-01] a server refuses a second initialize, whatever its params",
    on: servers,
    from: ["Negotiated", "Operating", "Closing"],
    events: ["ReceiveInitialize", "ReceiveInvalidInitialize"],
    action: "Reject"
  },
  {
    test: "[INIT-08] that the client is initialized is news once",
    on: servers,
    from: ["Operating", "Closing"],
    events: ["ReceiveInitialized"],
    action: "Ignore"
  },
  {
    test: "requests are served while both sides operate",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["ReceiveRequest", "ReceiveNotification"],
    action: "Deliver"
  },
  {
    test: "[MSG-07] responses are matched, also while the session closes",
    on: ["client", "server", "strictServer"],
    from: ["Operating", "Closing"],
    events: ["ReceiveResponse"],
    action: "Match"
  },
  {
    test: "a session that closes takes on no new work",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["ReceiveRequest"],
    action: "Reject"
  },
  {
    test: "a session that closes asks nothing more",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["SendRequest", "SendPing", "SendInitialize"],
    action: undefined
  },
  {
    test: "a session that closes has closed when nothing is in flight",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["Drained"],
    action: "Finish",
    to: "Closed"
  },
  {
    test: "a session that operates ends when it is told to or nothing more can come",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["Close", "TransportEnded"],
    action: "End",
    to: "Closing"
  },
  {
    test: "a server without sessions serves whatever comes, from the start",
    on: ["sessionlessServer"],
    from: ["Sessionless"],
    events: ["ReceiveRequest", "ReceiveNotification"],
    action: "Deliver"
  },
  {
    test: "[INIT-04] a server without sessions answers initialize, again and again",
    on: ["sessionlessServer"],
    from: ["Sessionless"],
    events: ["ReceiveInitialize"],
    action: "Answer"
  },
  {
    test: "a server without sessions has nobody to ask, not even whether somebody is there",
    on: ["sessionlessServer"],
    from: ["Sessionless", "Closing", "Closed"],
    events: ["SendRequest", "SendPing"],
    action: undefined
  },
  {
    test: "a server without sessions ends as others do",
    on: ["sessionlessServer"],
    from: ["Sessionless"],
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
)("[INIT-06] [INIT-16] a handshake that fails ends the session: %s, %s", (name, state, events) => {
  for (const event of events) {
    const row = machines[name][state]?.[event]
    assert.include(["Closing", "Closed"], row?.to, event)
    assert.strictEqual(row?.action, row?.to === "Closed" ? "Finish" : "End", event)
  }
})

it("[INIT-08] the strict server differs from the other in one cell", () => {
  const { Negotiated: strict, ...strictRest } = Handshake.strictServer.rows
  const { Negotiated: lax, ...laxRest } = Handshake.server.rows
  assert.deepStrictEqual(strictRest, laxRest)
  assert.deepStrictEqual({ ...strict, ReceiveRequest: undefined }, { ...lax, ReceiveRequest: undefined })
})
