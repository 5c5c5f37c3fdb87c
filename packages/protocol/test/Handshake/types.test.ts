/** What the compiler knows. */
import { Handshake, type Profile } from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { serverProfile, type Variant } from "./states.ts"

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
    expectTypeOf<Accepts<typeof Handshake.sessionlessServer.step, Handshake.SessionlessServerState>>().toEqualTypeOf<
      Lists<Handshake.SessionlessServerTable>
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
