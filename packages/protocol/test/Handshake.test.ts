import { Handshake, type Profile } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import { constructors, eventOf, tags, WeightedTag } from "./Handshake/events.ts"
import {
  clientStates,
  profileOf,
  reasonOf,
  serverStates,
  type State,
  statelessServerStates,
  type Variants
} from "./Handshake/states.ts"

it("every event has a constructor and the source that its name implies", () => {
  const sourceOf = (tag: string): Handshake.EventSource =>
    tag.startsWith("Send") ? "local" : tag.startsWith("Receive") ? "peer" : "lifecycle"
  assert.deepStrictEqual(Handshake.eventSources, Object.fromEntries(tags.map((tag) => [tag, sourceOf(tag)])))
  assert.deepStrictEqual(Object.keys(constructors).toSorted(), tags.toSorted())
})

type Rows = Handshake.Machine<unknown, State>["rows"]

interface Subject<S extends State> {
  readonly initial: S
  readonly states: ReadonlyArray<S>
  /** The rows, with the name of the state that each leads to. */
  readonly rows: Rows
  readonly transition: (state: S, event: Handshake.Event) => Handshake.Outcome<S>
  /** `step` for pairs whose legality the compiler cannot see. */
  readonly step: (state: S, event: Handshake.Event) => Handshake.Step<S, Handshake.Action>
}

const resolved = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([state, row]) => [
      state,
      Object.fromEntries(
        Object.entries(row).map(([event, { action, to }]) => [event, { action, to: to === "same" ? state : to }])
      )
    ])
  )

const subject = <S extends State>(
  { rows, step, transition }: { readonly rows: Rows; readonly step: unknown; readonly transition: unknown },
  states: Variants<S>,
  initial: S
): Subject<S> => ({
  initial,
  states: Object.values<S>({ ...states }),
  rows: resolved(rows),
  // The types of both depend on the event, which is known only at each call.
  transition: transition as never,
  step: step as never
})

const isOperating = (state: string): boolean => ["Negotiated", "Operating", "Modern"].includes(state)

const isDelivery = (action: Handshake.Action): boolean => action === "Deliver" || action === "ReleaseAndDeliver"

/** Tests the laws of every machine, and those of machines with a handshake. */
const laws = <S extends State>(
  name: string,
  { initial, rows, states, step, transition }: Subject<S>,
  options: { readonly handshake: boolean } = { handshake: true }
) => {
  const rowOf = (state: S, event: Handshake.Event) => rows[state._tag]?.[event._tag]
  const pairs = states.flatMap((state) => tags.map((tag) => ({ state, event: eventOf(tag, 1) })))

  /** Asserts the laws of a single step. */
  const assertStep = (state: S, event: Handshake.Event): Handshake.Outcome<S> => {
    const outcome = transition(state, event)
    const row = rowOf(state, event)
    const source = Handshake.eventSources[event._tag]
    const expected = row !== undefined || source === "lifecycle"
      ? "Moved"
      : source === "local"
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
    assert.strictEqual(outcome.action, row?.action ?? "Ignore", pair)
    assert.strictEqual(outcome.state._tag, row?.to ?? state._tag, pair)
    if (outcome.state._tag === state._tag) {
      assert.strictEqual(outcome.state, state, `${pair}: an equal state that is not the same object`)
    }
    if (row !== undefined) {
      const { action, state: stepped } = step(state, event)
      assert.strictEqual(action, outcome.action, `${pair}: step and transition disagree`)
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
    it("every row belongs to an existing state and event", () => {
      assert.deepStrictEqual(Object.keys(rows).toSorted(), states.map(({ _tag }) => _tag).toSorted())
      for (const row of Object.values(rows)) assert.includeMembers([...tags], Object.keys(row))
      for (const { event, state } of pairs) {
        const row = rowOf(state, event)
        if (row !== undefined) assert.include(Object.keys(rows), row.to)
      }
    })

    it.each(states.map((state) => [state._tag, state] as const))(
      "[INIT-16] %s: each event has the outcome of its row, or of the missing row",
      (_, state) => {
        for (const tag of tags) assert.isDefined(assertStep(state, eventOf(tag, 1)))
      }
    )

    it("Closed is final: no event changes it", () => {
      for (const state of states.filter(({ _tag }) => _tag === "Closed")) {
        for (const tag of tags) {
          const outcome = transition(state, eventOf(tag, 1))
          if (outcome._tag === "Moved") assert.strictEqual(outcome.state, state)
          assert.notStrictEqual(outcome._tag === "Moved" ? outcome.action : "Ignore", "Finish")
        }
      }
    })

    it("every state can be reached, and Closed from each state", () => {
      const reach = (from: string, seen = new Set([from])): ReadonlySet<string> => {
        for (const { to } of Object.values(rows[from] ?? {})) if (!seen.has(to)) reach(to, seen.add(to))
        return seen
      }
      assert.sameMembers([...reach(initial._tag)], Object.keys(rows))
      for (const state of Object.keys(rows)) assert.isTrue(reach(state).has("Closed"), state)
    })

    it("no state is entered again after it was left", () => {
      const order = Object.keys(rows)
      for (const [from, row] of Object.entries(rows)) {
        for (const { to } of Object.values(row)) assert.isAtLeast(order.indexOf(to), order.indexOf(from))
      }
    })

    const history = Arbitrary.array(Arbitrary.schema(WeightedTag), { maxLength: 120 })

    /** Runs a sequence of events, and passes each with its state and outcome to `observe`. */
    const run = (
      events: ReadonlyArray<Handshake.EventTag>,
      observe: (state: S, event: Handshake.Event, outcome: Handshake.Outcome<S>) => void
    ): S =>
      events.reduce((state, tag, n) => {
        const event = eventOf(tag, n)
        const outcome = assertStep(state, event)
        observe(state, event, outcome)
        return outcome._tag === "Moved" ? outcome.state : state
      }, initial)

    it("[INIT-16] the step laws hold for each event in each reached state, and each legal cell is reached", () => {
      const reached = new Map([[JSON.stringify(initial), initial]])
      const visited = new Set<string>()
      // A map yields the entries that are added meanwhile. Two events with each tag have different contents.
      for (const state of reached.values()) {
        for (const event of tags.flatMap((tag) => [eventOf(tag, 0), eventOf(tag, 1)])) {
          if (rowOf(state, event) !== undefined) visited.add(`${state._tag} × ${event._tag}`)
          const outcome = assertStep(state, event)
          if (outcome._tag !== "Moved") continue
          const key = JSON.stringify(outcome.state)
          if (!reached.has(key)) reached.set(key, outcome.state)
        }
      }
      const legal = Object.entries(rows).flatMap(([state, row]) =>
        Object.keys(row).map((event) => `${state} × ${event}`)
      )
      assert.sameMembers([...visited], legal)
    })

    it.prop("[INIT-13] a known profile never changes, and the first reason to close stays", [
      history
    ], ([events]) => {
      let profile: Profile.Profile | undefined
      let reason: ReturnType<typeof reasonOf>
      run(events, (_, __, outcome) => {
        if (outcome._tag !== "Moved") return
        profile ??= profileOf(outcome.state)
        reason ??= reasonOf(outcome.state)
        assert.strictEqual(profileOf(outcome.state) ?? profile, profile)
        assert.strictEqual(reasonOf(outcome.state) ?? reason, reason)
      })
    }, { arbitrary: { runs: 150, size: 60 } })

    if (!options.handshake) return

    it("[INIT-01] [INIT-09] [INIT-10] law 6: nothing is delivered before the profile is known", () => {
      for (const [state, row] of Object.entries(rows)) {
        if (state === "Closing" || isOperating(state)) continue
        for (const { action } of Object.values(row)) assert.isFalse(isDelivery(action), state)
      }
    })

    it.prop(
      "[INIT-01] [INIT-09] [INIT-10] [CAN-02] law 6: before a handshake, and after a failed one, nothing is" +
        " delivered, and only the handshake and ping are sent",
      [history],
      ([events]) => {
        let operating = false
        run(events, (state, event, outcome) => {
          if (outcome._tag !== "Moved") return
          operating ||= isOperating(outcome.state._tag)
          if (operating) return
          const pair = `${state._tag} × ${event._tag}`
          assert.isFalse(isDelivery(outcome.action), `${pair} delivers`)
          if (outcome.action === "Send") {
            assert.include(
              ["SendDiscover", "SendInitialize", "SendInitializeResult", "SendPing"],
              event._tag,
              `${pair} sends`
            )
          }
        })
      },
      { arbitrary: { runs: 150, size: 60 } }
    )

    it.prop("[INIT-01] law 6: a second initialize changes nothing", [history], ([events]) => {
      let first = true
      run(events, (state, event, outcome) => {
        if (event._tag !== "ReceiveInitialize") return
        if (first && outcome._tag === "Moved" && outcome.action === "Answer") {
          first = false
          return
        }
        if (outcome._tag === "Moved") {
          assert.strictEqual(outcome.state, state)
          assert.strictEqual(outcome.action, "Reject")
        } else assert.strictEqual(outcome._tag, "RemoteViolation")
      })
    }, { arbitrary: { runs: 150, size: 60 } })

    it.prop(
      "[INIT-08] [INIT-10] a session is established, released, ended and finished at most once",
      [history],
      ([events]) => {
        const actions: Array<string> = []
        run(events, (_, __, outcome) => {
          if (outcome._tag !== "Moved") return
          const { action } = outcome
          if (action === "Establish" || action === "End" || action === "Finish") actions.push(action)
          if (action === "Release" || action === "ReleaseAndDeliver") actions.push("Release")
        })
        assert.strictEqual(new Set(actions).size, actions.length, actions.join(", "))
      },
      { arbitrary: { runs: 150, size: 60 } }
    )
  })
}

laws("client", subject(Handshake.client, clientStates, clientStates.Idle))
laws("server", subject(Handshake.server, serverStates, serverStates.AwaitingInitialize))
laws("strictServer", subject(Handshake.strictServer, serverStates, serverStates.AwaitingInitialize))
laws(
  "statelessServer",
  subject(Handshake.statelessServer, statelessServerStates, { _tag: "Stateless" }),
  { handshake: false }
)
