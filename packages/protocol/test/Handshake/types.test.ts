/** The pairs, actions and states that the compiler knows of each machine. */
import { Handshake, type Profile } from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { clientProfile, serverProfile, type Variant } from "./states.ts"

/** Whether `step` accepts each pair: a function that requires more than a pair is not assignable to one of the pair. */
type Accepts<Step, States extends { readonly _tag: string }> = {
  readonly [From in States["_tag"]]: {
    readonly [Tag in Handshake.EventTag]: Step extends
      (state: Variant<States, From>, event: Handshake.EventOf<Tag>) => unknown ? true : false
  }
}

/** The pairs that have a row. */
type Rows<Table> = {
  readonly [From in keyof Table]: { readonly [Tag in Handshake.EventTag]: Tag extends keyof Table[From] ? true : false }
}

const idle: Variant<Handshake.ClientState, "Idle"> = { _tag: "Idle" }
const awaiting: Variant<Handshake.ServerState, "AwaitingInitialize"> = { _tag: "AwaitingInitialize" }

describe("step", () => {
  // `tsc -b` checks these. `illegal.test.ts` shows the errors of pairs and rows that do not compile.
  it("[INIT-01] [INIT-09] [INIT-10] accepts each pair that has a row, and no other", () => {
    expectTypeOf<Accepts<typeof Handshake.client.step, Handshake.ClientState>>().toEqualTypeOf<
      Rows<Handshake.ClientRows>
    >()
    expectTypeOf<Accepts<typeof Handshake.server.step, Handshake.ServerState>>().toEqualTypeOf<
      Rows<Handshake.ServerRows>
    >()
    expectTypeOf<Accepts<typeof Handshake.strictServer.step, Handshake.ServerState>>().toEqualTypeOf<
      Rows<Handshake.StrictServerRows>
    >()
    expectTypeOf<Accepts<typeof Handshake.statelessServer.step, Handshake.StatelessServerState>>().toEqualTypeOf<
      Rows<Handshake.StatelessServerRows>
    >()
  })

  it("[INIT-01] [INIT-09] accepts and rejects these example pairs", () => {
    type Client = Accepts<typeof Handshake.client.step, Handshake.ClientState>
    expectTypeOf<Client["Idle"]["SendInitialize"]>().toEqualTypeOf<true>()
    expectTypeOf<Client["Idle"]["SendRequest"]>().toEqualTypeOf<false>()
    expectTypeOf<Client["Initializing"]["SendRequest"]>().toEqualTypeOf<false>()
    expectTypeOf<Client["Operating"]["SendRequest"]>().toEqualTypeOf<true>()
    expectTypeOf<Client["Closed"]["Close"]>().toEqualTypeOf<false>()
  })

  it("accepts a union of states if the event has a row in each", () => {
    type Live = Variant<Handshake.ClientState, "Initializing" | "Operating">
    type Takes<Tag extends Handshake.EventTag> = typeof Handshake.client.step extends
      (state: Live, event: Handshake.EventOf<Tag>) => unknown ? true : false
    expectTypeOf<Takes<"Close">>().toEqualTypeOf<true>()
    expectTypeOf<Takes<"SendRequest">>().toEqualTypeOf<false>()
  })

  it("a profile cannot be read before the handshake produces it", () => {
    expectTypeOf<keyof Variant<Handshake.ClientState, "Idle">>().toEqualTypeOf<"_tag">()
    expectTypeOf<keyof Variant<Handshake.ClientState, "Initializing">>().toEqualTypeOf<"_tag" | "offer">()
    expectTypeOf<keyof Variant<Handshake.ServerState, "AwaitingInitialize">>().toEqualTypeOf<"_tag">()
    expectTypeOf<keyof Variant<Handshake.ClientState, "Operating">>().toEqualTypeOf<"_tag" | "profile">()
  })

  it("returns the state and the action of the row", () => {
    const initializing = Handshake.client.step(idle, { _tag: "SendInitialize", offer: "2025-06-18" })
    expectTypeOf(initializing.action).toEqualTypeOf<"Send">()
    assert.strictEqual(initializing.state.offer, "2025-06-18")

    const operating = Handshake.client.step(initializing.state, {
      _tag: "ReceiveInitializeResult",
      profile: serverProfile
    })
    expectTypeOf(operating.action).toEqualTypeOf<"Establish">()
    expectTypeOf(operating.state.profile).toEqualTypeOf<Profile.ServerProfile>()
    assert.strictEqual(operating.state.profile, serverProfile)

    const closing = Handshake.client.step(operating.state, { _tag: "Close", reason: { _tag: "Requested" } })
    expectTypeOf(closing.action).toEqualTypeOf<"End">()
    expectTypeOf(closing.state).toEqualTypeOf<Handshake.Closing>()
    const closed = Handshake.client.step(closing.state, { _tag: "Drained" })
    expectTypeOf(closed.action).toEqualTypeOf<"Finish">()
    expectTypeOf(closed.state).toEqualTypeOf<Handshake.Closed>()
    assert.strictEqual(closed.state.reason, closing.state.reason)
    expectTypeOf(Handshake.client.step(idle, { _tag: "Close", reason: { _tag: "Requested" } }).state).toEqualTypeOf<
      Handshake.Closed
    >()

    const received = Handshake.server.step(awaiting, { _tag: "ReceiveInitialize", profile: clientProfile })
    expectTypeOf(received.action).toEqualTypeOf<"Answer">()
    const negotiated = Handshake.server.step(received.state, { _tag: "SendInitializeResult" })
    expectTypeOf(negotiated.state._tag).toEqualTypeOf<"Negotiated">()
    assert.strictEqual(negotiated.state.profile, clientProfile)
  })

  it("keeps the state by a row that stays", () => {
    const { action, state } = Handshake.server.step(awaiting, { _tag: "ReceivePing" })
    expectTypeOf(action).toEqualTypeOf<"Answer">()
    expectTypeOf(state).toEqualTypeOf<typeof awaiting>()
    assert.strictEqual(state, awaiting)
  })

  it("returns the union of states and actions for a union of states", () => {
    type Ready = Variant<Handshake.ServerState, "Negotiated" | "Operating">
    const stepped = (state: Ready) => Handshake.server.step(state, { _tag: "ReceiveRequest" })
    const held = (state: Ready) => Handshake.server.step(state, { _tag: "SendRequest" })
    expectTypeOf<ReturnType<typeof stepped>["action"]>().toEqualTypeOf<"Deliver" | "ReleaseAndDeliver">()
    expectTypeOf<ReturnType<typeof stepped>["state"]["_tag"]>().toEqualTypeOf<"Operating">()
    expectTypeOf<ReturnType<typeof held>["action"]>().toEqualTypeOf<"Send" | "Hold">()
    expectTypeOf<ReturnType<typeof held>["state"]["_tag"]>().toEqualTypeOf<"Negotiated" | "Operating">()
    assert.strictEqual(stepped({ _tag: "Negotiated", profile: clientProfile }).action, "ReleaseAndDeliver")
  })
})

describe("transition", () => {
  it("returns the actions that the event has in some row", () => {
    const received = Handshake.server.transition(awaiting, { _tag: "ReceiveRequest" })
    if (received._tag === "Moved") {
      expectTypeOf(received.action).toEqualTypeOf<"Reject" | "ReleaseAndDeliver" | "Deliver">()
    }
    const sent = Handshake.client.transition(idle, { _tag: "SendRequest" })
    if (sent._tag === "Moved") expectTypeOf(sent.action).toEqualTypeOf<"Send">()
    expectTypeOf<Handshake.Actions<Handshake.ServerRows>["SendRequest"]>().toEqualTypeOf<"Send" | "Hold">()
    expectTypeOf<Handshake.Actions<Handshake.StrictServerRows>["ReceiveRequest"]>().toEqualTypeOf<
      "Reject" | "Deliver"
    >()
    expectTypeOf<Handshake.Actions<Handshake.ClientRows>["ReceiveLog"]>().toEqualTypeOf<"Keep" | "Deliver" | "Ignore">()
    expectTypeOf<Handshake.Actions<Handshake.ServerRows>["ReceiveLog"]>().toEqualTypeOf<never>()
    assert.strictEqual(received._tag, "Moved")
  })

  it("returns a violation of the source of the event, and none for a lifecycle event", () => {
    const ended = Handshake.client.transition(idle, { _tag: "Drained" })
    expectTypeOf(ended._tag).toEqualTypeOf<"Moved">()
    expectTypeOf(ended.action).toEqualTypeOf<"Finish" | "Ignore">()
    const sent = Handshake.client.transition(idle, { _tag: "SendPing" })
    expectTypeOf(sent._tag).toEqualTypeOf<"Moved" | "LocalViolation">()
    const received = Handshake.client.transition(idle, { _tag: "ReceivePing" })
    expectTypeOf(received._tag).toEqualTypeOf<"Moved" | "RemoteViolation">()
    assert.deepStrictEqual([ended._tag, sent._tag, received._tag], ["Moved", "LocalViolation", "RemoteViolation"])
  })

  it("a switch over its actions is exhaustive without a default", () => {
    const served = (state: Handshake.ServerState): string => {
      const outcome = Handshake.server.transition(state, { _tag: "ReceiveRequest" })
      if (outcome._tag === "RemoteViolation") return outcome.state
      switch (outcome.action) {
        case "Deliver":
          return "delivered"
        case "ReleaseAndDeliver":
          return "released and delivered"
        case "Reject":
          return "rejected"
      }
    }
    assert.strictEqual(served(awaiting), "rejected")
  })
})
