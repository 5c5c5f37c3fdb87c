import { Handshake, type Profile, Revision } from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

type Variant<Union extends { readonly _tag: string }, Tag extends string> = Extract<Union, { readonly _tag: Tag }>
type Variants<Union extends { readonly _tag: string }> = { readonly [Tag in Union["_tag"]]: Variant<Union, Tag> }

// =====================================================================================================================
// One state of every name, and any number of events
// =====================================================================================================================

const info = { name: "peer", version: "1" }
const clientProfile: Profile.ClientProfile = { revision: Revision.latest, capabilities: {}, info }
const serverProfile: Profile.ServerProfile = {
  revision: Revision.latest,
  capabilities: {},
  info,
  instructions: undefined
}

const ending = {
  Closing: { _tag: "Closing", reason: { _tag: "HandshakeFailed", problem: "the first reason" } },
  Closed: { _tag: "Closed", reason: { _tag: "HandshakeFailed", problem: "the first reason" } }
} as const

const clientStates: Variants<Handshake.ClientState> = {
  Idle: { _tag: "Idle" },
  Initializing: { _tag: "Initializing", offer: Revision.latest },
  Operating: { _tag: "Operating", profile: serverProfile },
  ...ending
}

const serverStates: Variants<Handshake.ServerState> = {
  Opening: { _tag: "Opening" },
  Initializing: { _tag: "Initializing", profile: clientProfile },
  Negotiated: { _tag: "Negotiated", profile: clientProfile },
  Operating: { _tag: "Operating", profile: clientProfile },
  ...ending
}

/** Makes the `n`-th event of a name: what it brings is told apart from what any other brings. */
const makers: { readonly [Tag in Handshake.EventTag]: (n: number) => Handshake.EventOf<Tag> } = {
  SendInitialize: () => ({ _tag: "SendInitialize", offer: Revision.latest }),
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
  ReceiveNotification: () => ({ _tag: "ReceiveNotification" }),
  ReceiveResponse: () => ({ _tag: "ReceiveResponse" }),
  Timeout: (n) => ({ _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis: n } }),
  TransportEnded: (n) => ({ _tag: "TransportEnded", reason: { _tag: "TransportFailed", cause: n } }),
  Drained: () => ({ _tag: "Drained" })
}

// A transition that altered the state it came from would throw.
for (const state of [...Object.values(clientStates), ...Object.values(serverStates)]) Object.freeze(state)

const EventTag = Schema.Literals([
  "SendInitialize",
  "SendInitializeResult",
  "SendPing",
  "SendRequest",
  "SendNotification",
  "Close",
  "ReceiveInitialize",
  "ReceiveInvalidInitialize",
  "ReceiveInitializeResult",
  "ReceiveInitializeFailure",
  "ReceiveInitialized",
  "ReceivePing",
  "ReceiveRequest",
  "ReceiveNotification",
  "ReceiveResponse",
  "Timeout",
  "TransportEnded",
  "Drained"
])

const tags: ReadonlyArray<Handshake.EventTag> = EventTag.literals

/** What happens in a run. The events that lead on are drawn more often, or most runs would end before they began. */
const Happening = Schema.Literals([
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

const eventOf = (tag: Handshake.EventTag, n: number): Handshake.Event => makers[tag](n)

type State = Handshake.ClientState | Handshake.ServerState

const profileOf = (state: State): Profile.Profile | undefined => "profile" in state ? state.profile : undefined
const reasonOf = (state: State) => "reason" in state ? state.reason : undefined

it("every event has a cause, as its name says, and a maker", () => {
  const named = (tag: string): Handshake.Cause =>
    tag.startsWith("Send") ? "local" : tag.startsWith("Receive") ? "peer" : "none"
  assert.deepStrictEqual(Handshake.causes, Object.fromEntries(tags.map((tag) => [tag, named(tag)])))
  assert.deepStrictEqual(Object.keys(makers).toSorted(), tags.toSorted())
})

// =====================================================================================================================
// What holds of each machine
// =====================================================================================================================

interface Subject<S extends State> {
  readonly initial: S
  readonly states: ReadonlyArray<S>
  readonly rows: {
    readonly [state: string]: {
      readonly [event: string]: { readonly to: string; readonly does: Handshake.Decision }
    }
  }
  readonly transition: (state: S, event: Handshake.Event) => Handshake.Outcome<S>
  /** `step` for pairs whose legality the compiler cannot see. */
  readonly step: (state: S, event: Handshake.Event) => unknown
}

const subject = <Table extends { readonly [From in keyof Table]: object }, S extends State>(
  { rows, step, transition }: Handshake.Machine<Table, S>,
  states: Variants<S>,
  initial: S
): Subject<S> => ({
  initial,
  states: Object.values<S>({ ...states }),
  rows,
  transition,
  // The compiler asks for a legal pair, and that the pair is legal is known only where this is called.
  step: step as never
})

const isOperating = (state: string): boolean => state === "Negotiated" || state === "Operating"

const isDelivery = (does: Handshake.Decision): boolean => does === "Deliver" || does === "ReleaseAndDeliver"

const laws = <S extends State>(name: string, { initial, rows, states, step, transition }: Subject<S>) => {
  const rowOf = (state: S, event: Handshake.Event) => rows[state._tag]?.[event._tag]
  const pairs = states.flatMap((state) => tags.map((tag) => ({ state, event: eventOf(tag, 1) })))

  /** What holds of a single step, wherever it is taken. */
  const assertStep = (state: S, event: Handshake.Event): Handshake.Outcome<S> => {
    const outcome = transition(state, event)
    const row = rowOf(state, event)
    const cause = Handshake.causes[event._tag]
    const expected = row !== undefined || cause === "none"
      ? "Moved"
      : cause === "local"
      ? "LocalViolation"
      : "RemoteViolation"
    if (outcome._tag !== "Moved") {
      assert.strictEqual(outcome._tag, expected)
      assert.strictEqual(outcome.state, state._tag)
      assert.strictEqual(outcome.event, event._tag)
      return outcome
    }

    const pair = `${state._tag} × ${event._tag}`
    assert.strictEqual("Moved", expected, pair)
    assert.strictEqual(outcome.does, row?.does ?? "Ignore", pair)
    assert.strictEqual(outcome.state._tag, row?.to ?? state._tag, pair)
    if (outcome.state._tag === state._tag) {
      assert.strictEqual(outcome.state, state, `${pair}: the same, and yet another`)
    }
    if (row !== undefined) {
      const stepped = step(state, event)
      if (row.to === state._tag) assert.strictEqual(stepped, state, `${pair}: step and transition disagree`)
      else assert.deepStrictEqual(stepped, outcome.state, `${pair}: step and transition disagree`)
    }
    const profile = profileOf(outcome.state)
    if (profile !== undefined) assert.strictEqual(profile, profileOf(state) ?? profile, `${pair} changes the profile`)
    assert.strictEqual(
      reasonOf(state) ?? reasonOf(outcome.state),
      reasonOf(outcome.state),
      `${pair} changes the reason`
    )
    return outcome
  }

  describe(name, () => {
    it("rows stand only under states and events that exist", () => {
      assert.deepStrictEqual(Object.keys(rows).toSorted(), states.map(({ _tag }) => _tag).toSorted())
      for (const row of Object.values(rows)) assert.includeMembers([...tags], Object.keys(row))
      for (const { event, state } of pairs) {
        const row = rowOf(state, event)
        if (row !== undefined) assert.include(Object.keys(rows), row.to)
      }
    })

    it.each(states.map((state) => [state._tag, state] as const))(
      "[INIT-16] %s: each event means what its row says, or the lack of one",
      (_, state) => {
        for (const tag of tags) assert.isDefined(assertStep(state, eventOf(tag, 1)))
      }
    )

    it("Closed is for good: whatever happens, it is the same", () => {
      for (const state of states.filter(({ _tag }) => _tag === "Closed")) {
        for (const tag of tags) {
          const outcome = transition(state, eventOf(tag, 1))
          if (outcome._tag === "Moved") assert.strictEqual(outcome.state, state)
          assert.notStrictEqual(outcome._tag === "Moved" ? outcome.does : "Ignore", "Finish")
        }
      }
    })

    it("every state but the first can be reached, and Closed from each", () => {
      const reach = (from: string, seen = new Set([from])): ReadonlySet<string> => {
        for (const { to } of Object.values(rows[from] ?? {})) if (!seen.has(to)) reach(to, seen.add(to))
        return seen
      }
      assert.sameMembers([...reach(initial._tag)], Object.keys(rows))
      for (const state of Object.keys(rows)) assert.isTrue(reach(state).has("Closed"), state)
    })

    it("nothing leads back: a state that was left is never entered again", () => {
      const order = Object.keys(rows)
      for (const [from, row] of Object.entries(rows)) {
        for (const { to } of Object.values(row)) assert.isAtLeast(order.indexOf(to), order.indexOf(from))
      }
    })

    const history = Arbitrary.array(Arbitrary.schema(Happening), { maxLength: 120 })

    /** Lets a sequence of events happen, with the state and the outcome of each handed to `see`. */
    const run = (
      happened: ReadonlyArray<Handshake.EventTag>,
      see: (state: S, event: Handshake.Event, outcome: Handshake.Outcome<S>) => void
    ): S =>
      happened.reduce((state, tag, n) => {
        const event = eventOf(tag, n)
        const outcome = assertStep(state, event)
        see(state, event, outcome)
        return outcome._tag === "Moved" ? outcome.state : state
      }, initial)

    it.effect("[INIT-16] whatever happens in whatever order, and every legal cell is visited", () =>
      Effect.gen(function*() {
        const visited = new Set<string>()
        const result = yield* Arbitrary.checkEffect(history, (happened) => {
          run(happened, (state, event) => {
            if (rowOf(state, event) !== undefined) visited.add(`${state._tag} × ${event._tag}`)
          })
          return true
        }, { runs: 1_500, size: 120 })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
        const legal = Object.entries(rows).flatMap(([state, row]) =>
          Object.keys(row).map((event) => `${state} × ${event}`)
        )
        assert.sameMembers([...visited], legal)
      }))

    it.prop("[INIT-13] the profile, once known, never changes; the first reason to close stays", [
      history
    ], ([happened]) => {
      let profile: Profile.Profile | undefined
      let reason: ReturnType<typeof reasonOf>
      run(happened, (_, __, outcome) => {
        if (outcome._tag !== "Moved") return
        profile ??= profileOf(outcome.state)
        reason ??= reasonOf(outcome.state)
        assert.strictEqual(profileOf(outcome.state) ?? profile, profile)
        assert.strictEqual(reasonOf(outcome.state) ?? reason, reason)
      })
    }, { arbitrary: { runs: 150, size: 60 } })

    it("[INIT-01] [INIT-09] [INIT-10] law 6: before the profile is known nothing is delivered", () => {
      for (const [state, row] of Object.entries(rows)) {
        if (state === "Closing" || isOperating(state)) continue
        for (const { does } of Object.values(row)) assert.isFalse(isDelivery(does), state)
      }
    })

    it.prop(
      "[INIT-01] [INIT-09] [INIT-10] [CAN-02] law 6: without a handshake, also after one that failed, nothing is" +
        " delivered, and nothing is sent but the handshake and ping",
      [history],
      ([happened]) => {
        let operating = false
        run(happened, (state, event, outcome) => {
          if (outcome._tag !== "Moved") return
          operating ||= isOperating(outcome.state._tag)
          if (operating) return
          const pair = `${state._tag} × ${event._tag}`
          assert.isFalse(isDelivery(outcome.does), `${pair} delivers`)
          if (outcome.does === "Send") {
            assert.include(["SendInitialize", "SendInitializeResult", "SendPing"], event._tag, `${pair} sends`)
          }
        })
      },
      { arbitrary: { runs: 150, size: 60 } }
    )

    it.prop("[INIT-01] law 6: a second initialize changes nothing", [history], ([happened]) => {
      let first = true
      run(happened, (state, event, outcome) => {
        if (event._tag !== "ReceiveInitialize") return
        if (first && outcome._tag === "Moved" && outcome.does === "Answer") {
          first = false
          return
        }
        if (outcome._tag === "Moved") {
          assert.strictEqual(outcome.state, state)
          assert.strictEqual(outcome.does, "Refuse")
        } else assert.strictEqual(outcome._tag, "RemoteViolation")
      })
    }, { arbitrary: { runs: 150, size: 60 } })

    it.prop("[INIT-08] [INIT-10] each turn of a session's life is taken at most once", [history], ([happened]) => {
      const taken: Array<string> = []
      run(happened, (_, __, outcome) => {
        if (outcome._tag !== "Moved") return
        const { does } = outcome
        if (does === "Establish" || does === "End" || does === "Finish") taken.push(does)
        if (does === "Release" || does === "ReleaseAndDeliver") taken.push("Release")
      })
      assert.strictEqual(new Set(taken).size, taken.length, taken.join(", "))
    }, { arbitrary: { runs: 150, size: 60 } })
  })
}

laws("client", subject(Handshake.client, clientStates, clientStates.Idle))
laws("server", subject(Handshake.server, serverStates, serverStates.Opening))
laws("strictServer", subject(Handshake.strictServer, serverStates, serverStates.Opening))

// =====================================================================================================================
// What the specification asks for, cell by cell
// =====================================================================================================================

interface Cell {
  readonly test: string
  readonly on: ReadonlyArray<keyof typeof machines>
  readonly from: ReadonlyArray<string>
  readonly events: ReadonlyArray<Handshake.EventTag>
  /** What is done, and the state that follows if it is another. `undefined`: there is no row. */
  readonly does: Handshake.Decision | undefined
  readonly to?: string
}

const machines = {
  client: Handshake.client.rows,
  server: Handshake.server.rows,
  strictServer: Handshake.strictServer.rows
}

const servers = ["server", "strictServer"] as const
const open = ["Opening", "Negotiated", "Operating"] as const

const cells: ReadonlyArray<Cell> = [
  {
    test: "[INIT-01] a client opens with initialize, once",
    on: ["client"],
    from: ["Idle"],
    events: ["SendInitialize"],
    does: "Send",
    to: "Initializing"
  },
  {
    test: "[INIT-01] a client sends nothing before initialize",
    on: ["client"],
    from: ["Idle"],
    events: ["SendPing", "SendRequest", "SendNotification"],
    does: undefined
  },
  {
    test: "[INIT-01] a client does not initialize again",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing", "Closed"],
    events: ["SendInitialize"],
    does: undefined
  },
  {
    test: "[INIT-09] until it is answered, a client sends ping and nothing else",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendPing"],
    does: "Send"
  },
  {
    test:
      "[INIT-09] [CAN-02] a client that waits for the answer neither asks nor tells, and so cannot cancel initialize",
    on: ["client"],
    from: ["Initializing"],
    events: ["SendRequest", "SendNotification"],
    does: undefined
  },
  {
    test: "[INIT-08] a client says that it is initialized when the answer has come",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveInitializeResult"],
    does: "Establish",
    to: "Operating"
  },
  {
    test: "[INIT-10] a client that waits for the answer refuses requests",
    on: ["client"],
    from: ["Initializing"],
    events: ["ReceiveRequest"],
    does: "Refuse"
  },
  {
    test: "[PING-01] ping is answered whenever the peer may have sent one",
    on: ["client"],
    from: ["Initializing", "Operating", "Closing"],
    events: ["ReceivePing"],
    does: "Answer"
  },
  {
    test: "[PING-01] ping is answered at any time",
    on: servers,
    from: [...open, "Closing"],
    events: ["ReceivePing"],
    does: "Answer"
  },
  {
    test: "[INIT-04] [INIT-07] a server answers initialize",
    on: servers,
    from: ["Opening"],
    events: ["ReceiveInitialize"],
    does: "Answer",
    to: "Initializing"
  },
  {
    test: "[INIT-02] a server refuses params that do not fit, and still waits for better ones",
    on: servers,
    from: ["Opening"],
    events: ["ReceiveInvalidInitialize"],
    does: "RefuseParams"
  },
  {
    test: "[INIT-01] a server refuses requests before initialize",
    on: servers,
    from: ["Opening"],
    events: ["ReceiveRequest"],
    does: "Refuse"
  },
  {
    test: "[INIT-01] [MSG-12] a server ignores notifications before initialize",
    on: servers,
    from: ["Opening"],
    events: ["ReceiveNotification", "ReceiveInitialized"],
    does: "Ignore"
  },
  {
    test: "[INIT-07] a server has negotiated as soon as its answer is on its way",
    on: servers,
    from: ["Initializing"],
    events: ["SendInitializeResult"],
    does: "Send",
    to: "Negotiated"
  },
  {
    test: "[INIT-10] a server holds its requests, other than ping, until the client is ready",
    on: servers,
    from: ["Opening", "Negotiated"],
    events: ["SendRequest"],
    does: "Hold"
  },
  {
    test: "[INIT-10] a server may ping before the client is ready",
    on: servers,
    from: open,
    events: ["SendPing"],
    does: "Send"
  },
  {
    test: "[INIT-10] log messages are not held",
    on: servers,
    from: ["Negotiated", "Operating"],
    events: ["SendNotification"],
    does: "Send"
  },
  {
    test: "[INIT-08] what was held goes out when the client says that it is initialized",
    on: servers,
    from: ["Negotiated"],
    events: ["ReceiveInitialized"],
    does: "Release",
    to: "Operating"
  },
  {
    test: "[INIT-08] a first request says the same",
    on: ["server"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    does: "ReleaseAndDeliver",
    to: "Operating"
  },
  {
    test: "[INIT-08] except under the strict policy, which refuses it",
    on: ["strictServer"],
    from: ["Negotiated"],
    events: ["ReceiveRequest"],
    does: "Refuse"
  },
  {
    test: "[INIT-01] a server refuses a second initialize, whatever its params",
    on: servers,
    from: ["Negotiated", "Operating", "Closing"],
    events: ["ReceiveInitialize", "ReceiveInvalidInitialize"],
    does: "Refuse"
  },
  {
    test: "[INIT-08] that the client is initialized is news once",
    on: servers,
    from: ["Operating", "Closing"],
    events: ["ReceiveInitialized"],
    does: "Ignore"
  },
  {
    test: "requests are served while both sides operate",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["ReceiveRequest", "ReceiveNotification"],
    does: "Deliver"
  },
  {
    test: "[MSG-07] responses are matched, also while the session closes",
    on: ["client", "server", "strictServer"],
    from: ["Operating", "Closing"],
    events: ["ReceiveResponse"],
    does: "Match"
  },
  {
    test: "a session that closes takes on no new work",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["ReceiveRequest"],
    does: "Refuse"
  },
  {
    test: "a session that closes asks nothing more",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["SendRequest", "SendPing", "SendInitialize"],
    does: undefined
  },
  {
    test: "a session that closes has closed when nothing is in flight",
    on: ["client", "server", "strictServer"],
    from: ["Closing"],
    events: ["Drained"],
    does: "Finish",
    to: "Closed"
  },
  {
    test: "a session that operates ends when it is told to or nothing more can come",
    on: ["client", "server", "strictServer"],
    from: ["Operating"],
    events: ["Close", "TransportEnded"],
    does: "End",
    to: "Closing"
  }
]

describe.each(cells)("$test", ({ does, events, from, on, to }) => {
  it.each(on.flatMap((name) => from.flatMap((state) => events.map((event) => [name, state, event] as const))))(
    "%s: %s × %s",
    (name, state, event) => {
      const row = machines[name][state]?.[event]
      assert.strictEqual(row?.does, does)
      if (row !== undefined) assert.strictEqual(row.to, to ?? state)
    }
  )
})

it.each(
  [
    ["client", "Idle", ["TransportEnded", "Close"]],
    ["client", "Initializing", ["ReceiveInitializeFailure", "Timeout", "TransportEnded", "Close"]],
    ["server", "Opening", ["Timeout", "TransportEnded", "Close"]],
    ["server", "Initializing", ["TransportEnded", "Close"]]
  ] as const
)("[INIT-06] [INIT-16] a handshake that fails ends the session: %s, %s", (name, state, events) => {
  for (const event of events) {
    const row = machines[name][state]?.[event]
    assert.include(["Closing", "Closed"], row?.to, event)
    assert.strictEqual(row?.does, row?.to === "Closed" ? "Finish" : "End", event)
  }
})

it("[INIT-08] the strict server differs from the other in one cell", () => {
  const { Negotiated: strict, ...strictRest } = Handshake.strictServer.rows
  const { Negotiated: lax, ...laxRest } = Handshake.server.rows
  assert.deepStrictEqual(strictRest, laxRest)
  assert.deepStrictEqual({ ...strict, ReceiveRequest: undefined }, { ...lax, ReceiveRequest: undefined })
})

// =====================================================================================================================
// What the compiler knows
// =====================================================================================================================

/** Whether `step` takes each pair: a function that asks for more than a pair cannot stand where the pair is passed. */
type Accepts<Step, States extends { readonly _tag: string }> = {
  readonly [From in States["_tag"]]: {
    readonly [Tag in Handshake.EventTag]: Step extends
      (state: Variant<States, From>, event: Handshake.EventOf<Tag>) => unknown ? true : false
  }
}

/** Which pairs a table lists. */
type Lists<Table> = {
  readonly [From in keyof Table]: { readonly [Tag in Handshake.EventTag]: Tag extends keyof Table[From] ? true : false }
}

type After<
  From extends Handshake.ClientState,
  Tag extends keyof Handshake.ClientTable[From["_tag"]] & Handshake.EventTag
> = ReturnType<typeof Handshake.client.step<From, Tag>>

describe("types", () => {
  // `tsc -b` is what checks these: each of the pairs without a row would not compile.
  it("[INIT-01] [INIT-09] [INIT-10] step takes the legal pairs and refuses every other one", () => {
    expectTypeOf<Accepts<typeof Handshake.client.step, Handshake.ClientState>>().toEqualTypeOf<
      Lists<Handshake.ClientTable>
    >()
    expectTypeOf<Accepts<typeof Handshake.server.step, Handshake.ServerState>>().toEqualTypeOf<
      Lists<Handshake.ServerTable>
    >()
    expectTypeOf<Accepts<typeof Handshake.strictServer.step, Handshake.ServerState>>().toEqualTypeOf<
      Lists<Pick<Handshake.StrictServerTable, keyof Handshake.ServerTable>>
    >()
  })

  it("[INIT-01] [INIT-09] a few of them, spelt out", () => {
    type Client = Accepts<typeof Handshake.client.step, Handshake.ClientState>
    expectTypeOf<Client["Idle"]["SendInitialize"]>().toEqualTypeOf<true>()
    expectTypeOf<Client["Idle"]["SendRequest"]>().toEqualTypeOf<false>()
    expectTypeOf<Client["Initializing"]["SendRequest"]>().toEqualTypeOf<false>()
    expectTypeOf<Client["Operating"]["SendRequest"]>().toEqualTypeOf<true>()
    expectTypeOf<Client["Closed"]["Close"]>().toEqualTypeOf<false>()
  })

  it("of several states, step takes what is legal in each", () => {
    type Live = Variant<Handshake.ClientState, "Initializing" | "Operating">
    type Takes<Tag extends Handshake.EventTag> = typeof Handshake.client.step extends
      (state: Live, event: Handshake.EventOf<Tag>) => unknown ? true : false
    expectTypeOf<Takes<"Close">>().toEqualTypeOf<true>()
    expectTypeOf<Takes<"SendRequest">>().toEqualTypeOf<false>()
  })

  it("no profile can be read before there is one", () => {
    expectTypeOf<keyof Variant<Handshake.ClientState, "Idle">>().toEqualTypeOf<"_tag">()
    expectTypeOf<keyof Variant<Handshake.ClientState, "Initializing">>().toEqualTypeOf<"_tag" | "offer">()
    expectTypeOf<keyof Variant<Handshake.ServerState, "Opening">>().toEqualTypeOf<"_tag">()
    expectTypeOf<keyof Variant<Handshake.ClientState, "Operating">>().toEqualTypeOf<"_tag" | "profile">()
  })

  it("step says which state follows, with what is known in it", () => {
    type Idle = Variant<Handshake.ClientState, "Idle">
    type Initializing = Variant<Handshake.ClientState, "Initializing">
    expectTypeOf<After<Idle, "SendInitialize">>().toEqualTypeOf<Initializing>()
    expectTypeOf<After<Initializing, "ReceiveInitializeResult">["profile"]>().toEqualTypeOf<Profile.ServerProfile>()
    expectTypeOf<After<Variant<Handshake.ClientState, "Operating">, "Close">>().toEqualTypeOf<Handshake.Closing>()
    expectTypeOf<After<Idle, "Close">>().toEqualTypeOf<Handshake.Closed>()

    const initializing = Handshake.client.step({ _tag: "Idle" }, { _tag: "SendInitialize", offer: "2025-06-18" })
    assert.strictEqual(initializing.offer, "2025-06-18")
    const operating = Handshake.client.step(initializing, { _tag: "ReceiveInitializeResult", profile: serverProfile })
    assert.strictEqual(operating.profile, serverProfile)
    const closing = Handshake.client.step(operating, { _tag: "Close", reason: { _tag: "Requested" } })
    assert.strictEqual(Handshake.client.step(closing, { _tag: "Drained" }).reason, closing.reason)
  })
})
