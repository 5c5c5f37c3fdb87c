import { type CloseReason, Handshake, JsonRpc, type Profile, Revision } from "@effect-mcp/protocol"
import type { SessionEvent } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as ServerHandshake from "../../../src/internal/server/ServerHandshake.ts"
import { codeOf, info, initialize, initialized } from "../../support/sessions.ts"

const description = ServerHandshake.describe({ info, capabilities: { tools: {} }, revisions: Revision.legacy })
const requested: CloseReason.CloseReason = { _tag: "Requested" }
const profile: Profile.ClientProfile = { revision: Revision.latestLegacy, capabilities: {}, info }

/** A handshake whose runtime has no connection. The log lists what happened. */
const handshakeWith = (options: {
  readonly state: Handshake.ServerState
  readonly maxProfileBytes?: number
  readonly observe?: (event: SessionEvent.SessionEvent) => void
}) => {
  let state = options.state
  const log: Array<unknown> = []
  const moveTo = (next: Handshake.ServerState) => {
    if (next._tag !== state._tag) log.push(next._tag)
    state = next
  }
  const runtime: ServerHandshake.HandshakeRuntime = {
    limits: { maxProfileBytes: options.maxProfileBytes ?? 16_384 },
    replies: { reply: (response) => void log.push(["reply", codeOf(response) ?? "result"]) },
    state: () => state,
    commit: (from, to) => {
      if (state !== from || to._tag === "Stateless") return false
      moveTo(to)
      return true
    },
    apply: (event) => {
      const outcome = Handshake.server.transition(state, event)
      if (outcome._tag === "Moved") moveTo(outcome.state)
      return outcome
    },
    deferEvents: (action) => action(),
    emit: (event) => {
      log.push(event._tag)
      options.observe?.(event)
    }
  }
  const owner: ServerHandshake.HandshakeOwner = {
    description,
    release: () => void log.push("release"),
    storeClient: ({ info }) => void log.push(["storeClient", info?.name]),
    establish: ({ revision }) => void log.push(["establish", revision])
  }
  return {
    log,
    moveTo,
    receive: (message: JsonRpc.Request | JsonRpc.Notification) =>
      "id" in message
        ? ServerHandshake.answer(runtime, owner, message, undefined)
        : ServerHandshake.observe(runtime, message, () => owner.release())
  }
}

describe("initialize", () => {
  it("[INIT-04] is answered after the client is stored and the machine has moved", () => {
    const { log, receive } = handshakeWith({ state: { _tag: "AwaitingInitialize" } })
    receive(initialize("2025-06-18"))
    assert.deepStrictEqual(log, [
      "Initializing",
      ["storeClient", "test"],
      "Negotiated",
      ["reply", "result"],
      ["establish", "2025-06-18"]
    ])
  })

  it("with invalid params is rejected with -32602, and the next one is answered", () => {
    const { log, receive } = handshakeWith({ state: { _tag: "AwaitingInitialize" } })
    receive(JsonRpc.request(0, "initialize", {}))
    assert.deepStrictEqual(log, ["Rejected", ["reply", -32602]])
    receive(initialize())
    assert.deepInclude(log, ["reply", "result"])
  })

  it("is rejected if an observer closes the session in the same step, and nothing is established", () => {
    const { log, moveTo, receive } = handshakeWith({
      state: { _tag: "AwaitingInitialize" },
      maxProfileBytes: 1000,
      observe: ({ _tag }) => {
        if (_tag === "ProfileTrimmed") moveTo({ _tag: "Closed", reason: requested })
      }
    })
    const icons = [{ src: "x".repeat(2000) }]
    receive(JsonRpc.request(0, "initialize", { ...initialize().params, clientInfo: { ...info, icons } }))
    assert.deepStrictEqual(log, [
      "Initializing",
      "ProfileTrimmed",
      "Closed",
      ["storeClient", "test"],
      "Rejected",
      ["reply", -32600]
    ])
  })

  const later: ReadonlyArray<Handshake.ServerState> = [
    { _tag: "Initializing", profile },
    { _tag: "Negotiated", profile },
    { _tag: "Operating", profile },
    { _tag: "Closing", reason: requested },
    { _tag: "Closed", reason: requested }
  ]
  for (const state of later) {
    it(`law 6: in ${state._tag}, another one is rejected with -32600 and changes nothing`, () => {
      const { log, receive } = handshakeWith({ state })
      receive(initialize("2024-11-05"))
      receive(JsonRpc.request(1, "initialize", {}))
      assert.deepStrictEqual(log, ["Rejected", ["reply", -32600], "Rejected", ["reply", -32600]])
    })
  }
})

describe("notifications/initialized", () => {
  it("[INIT-10] releases held requests once", () => {
    const { log, receive } = handshakeWith({ state: { _tag: "Negotiated", profile } })
    receive(initialized)
    receive(initialized)
    assert.deepStrictEqual(log, ["Operating", "release", "NotificationIgnored"])
  })
})

describe("other messages", () => {
  it("are not part of the handshake, such as a notification of that name", () => {
    const { log, receive } = handshakeWith({ state: { _tag: "AwaitingInitialize" } })
    assert.isFalse(receive(JsonRpc.notification("initialize")))
    assert.deepStrictEqual(log, [])
  })
})

describe("initializeTimeout", () => {
  it("[INIT-16] ends a session that received no initialize, and no other", () => {
    const reason: CloseReason.CloseReason = { _tag: "HandshakeTimeout", afterMillis: 10 }
    const timeOut = (state: Handshake.ServerState | Handshake.StatelessServerState) =>
      ServerHandshake.timeOut(state, { _tag: "Timeout", reason })
    assert.deepStrictEqual(timeOut({ _tag: "AwaitingInitialize" }), {
      state: { _tag: "Closed", reason },
      action: "Finish"
    })
    assert.isUndefined(timeOut({ _tag: "Negotiated", profile }))
    assert.isUndefined(timeOut({ _tag: "Stateless" }))
  })
})
