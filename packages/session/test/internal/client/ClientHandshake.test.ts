import {
  type CloseReason,
  Handshake,
  JsonRpc,
  McpError,
  MethodTable,
  type Profile,
  Revision
} from "@effect-mcp/protocol"
import { Limits, MemoryBudget, RequestError, type SessionEvent } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ClientDescription from "../../../src/internal/client/ClientDescription.ts"
import type { ClientEra } from "../../../src/internal/client/ClientEra.ts"
import * as ClientHandshake from "../../../src/internal/client/ClientHandshake.ts"
import { EarlyLogs } from "../../../src/internal/client/EarlyLogs.ts"
import * as InitializeResponse from "../../../src/internal/client/InitializeResponse.ts"
import { StrayTexts } from "../../../src/internal/client/StrayTexts.ts"
import type { SendOptions } from "../../../src/internal/engine/RequestSender.ts"
import { logMessage } from "../../support/sessions.ts"

const info = { name: "client", version: "1.0.0" }
const serverInfo = { name: "server", version: "2.0.0" }
const description = ClientDescription.describe({
  info,
  capabilities: { roots: { listChanged: true } },
  revisions: Revision.legacy
})
const limit = 16_384

const responseWith = (members: object): JsonRpc.Response =>
  JsonRpc.success(0, { protocolVersion: Revision.latestLegacy, capabilities: { tools: {} }, serverInfo, ...members })

const judgeResponse = (members: object, limitBytes = limit, client = description) =>
  InitializeResponse.judge(client, limitBytes, responseWith(members))

describe("initialize", () => {
  it("[INIT-03] requests the newest of the client's revisions, in any order", () => {
    const { offer } = ClientDescription.describe({ info, capabilities: {}, revisions: ["2024-11-05", "2025-03-26"] })
    assert.strictEqual(offer, "2025-03-26")
    assert.strictEqual(description.offer, Revision.latestLegacy)
  })

  it("[INIT-02] has the revision, the capabilities and the info of the client", () => {
    assert.deepStrictEqual(ClientDescription.initializeParams(description, "2025-06-18"), {
      protocolVersion: "2025-06-18",
      capabilities: { roots: { listChanged: true } },
      clientInfo: info
    })
  })

  it("has no capability that its revision would misread", () => {
    const capabilities = { elicitation: { url: {} } }
    const client = ClientDescription.describe({ info, capabilities, projection: "strict" })
    assert.deepStrictEqual(ClientDescription.initializeParams(client, "2025-11-25").capabilities, capabilities)
    assert.deepStrictEqual(ClientDescription.initializeParams(client, "2025-03-26").capabilities, {})
  })
})

describe("the response to initialize", () => {
  it("yields the profile of the server", () => {
    assert.deepStrictEqual(
      judgeResponse({ instructions: "Call add." }),
      Result.succeed({
        profile: {
          revision: Revision.latestLegacy,
          capabilities: { tools: {} },
          info: serverInfo,
          instructions: "Call add."
        },
        isTrimmed: false
      })
    )
  })

  it("[INIT-16] is an error: Refused, with the error", () => {
    const error = new McpError.McpError({ code: -32000, message: "no more clients", data: undefined })
    const reason = InitializeResponse.judge(description, limit, JsonRpc.failure(0, error))
    assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "Rejected")
    assert.strictEqual(
      Result.isFailure(reason) && reason.failure._tag === "Rejected" && reason.failure.error.message,
      "no more clients"
    )
  })

  it("[INIT-16] does not match its schema: InvalidResult", () => {
    for (const members of [{ serverInfo: "server" }, { capabilities: undefined }, { protocolVersion: 1 }]) {
      const reason = judgeResponse(members)
      assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "InvalidResult")
    }
  })

  it("[INIT-06] names a revision that the client does not support: UnsupportedRevision", () => {
    const client = ClientDescription.describe({ info, capabilities: {}, revisions: ["2025-06-18", "2025-03-26"] })
    for (const protocolVersion of ["2024-11-05", "2099-01-01", ""]) {
      assert.deepStrictEqual(
        judgeResponse({ protocolVersion }, limit, client),
        Result.fail({
          _tag: "UnsupportedRevision",
          chosen: protocolVersion,
          supported: ["2025-06-18", "2025-03-26"]
        })
      )
    }
  })

  it("does not declare capabilities that its revision does not have", () => {
    const client = ClientDescription.describe({ info, capabilities: {}, projection: "strict" })
    const capabilities = { tools: {}, completions: {} }
    const capabilitiesIn = (protocolVersion: Revision.LegacyRevision) =>
      Result.map(judgeResponse({ protocolVersion, capabilities }, limit, client), ({ profile }) => profile.capabilities)
    assert.deepStrictEqual(capabilitiesIn("2025-03-26"), Result.succeed(capabilities))
    assert.deepStrictEqual(capabilitiesIn("2024-11-05"), Result.succeed({ tools: {} }))
  })

  it("law 12: is kept without icons if they exceed the limit, and is an InvalidResult if the rest does", () => {
    const icons = [{ src: `data:image/png;base64,${"A".repeat(limit)}` }]
    const trimmed = judgeResponse({ serverInfo: { ...serverInfo, icons } })
    assert.deepStrictEqual<unknown>(
      Result.map(trimmed, ({ isTrimmed, profile }) => [isTrimmed, profile.info]),
      Result.succeed([true, serverInfo])
    )
    const reason = judgeResponse({ instructions: "x".repeat(limit) })
    assert.isTrue(Result.isFailure(reason) && reason.failure._tag === "InvalidResult")
    assert.include(
      Result.isFailure(reason) && reason.failure._tag === "InvalidResult" ? reason.failure.problem : "",
      `the limit is ${limit}`
    )
  })
})

const requested: CloseReason.CloseReason = { _tag: "Requested" }

/** A handshake whose runtime has no connection: `respond` answers `initialize`, and the log lists what happened. */
const handshakeWith = (options: {
  readonly state?: Handshake.ClientState
  readonly respond?: (send: SendOptions<never>) => Effect.Effect<never, RequestError.RequestError>
  readonly observe?: (event: SessionEvent.SessionEvent) => void
  readonly limits?: Limits.Options
}) => {
  let state: Handshake.ClientState = options.state ?? { _tag: "Idle" }
  const log: Array<unknown> = []
  const moveTo = (next: Handshake.ClientState) => {
    if (next._tag !== state._tag) log.push(next._tag)
    state = next
  }
  const failWith = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make("initialize", reason))
  const runtime: ClientHandshake.HandshakeRuntime = {
    limits: Limits.make({ ...options.limits }),
    budget: MemoryBudget.make({ maxBytes: 1_000_000 }),
    exchanges: { only: undefined },
    connection: {
      run: () => Effect.never,
      send: () => Effect.void,
      onHandshake: ({ info }) => void log.push(`onHandshake ${info?.name}`)
    },
    closed: Effect.sync(() => {
      log.push("closed")
      return requested
    }),
    state: () => state,
    commit: (from, to) => {
      if (state !== from) return false
      moveTo(to)
      return true
    },
    apply: (event) => {
      const outcome = Handshake.client.transition(state, event)
      if (outcome._tag === "Moved") moveTo(outcome.state)
      return outcome
    },
    end: ({ reason }, mode) => void log.push([`end ${mode}`, reason]),
    abort: (from, step) => {
      if (runtime.commit(from, step.state)) log.push(["abort", step.state.reason])
    },
    emit: (event) => {
      log.push(event._tag)
      options.observe?.(event)
    },
    fork: Effect.runFork,
    replies: { mute: () => void log.push("mute") }
  }
  const logs = new EarlyLogs(runtime, {
    deliverNotification: ({ params }) => void log.push(["deliver", params?.["data"]]),
    ignoreNotification: (_method, problem) => void log.push(["ignore", problem])
  })
  const eraOf = (server: Profile.ServerProfile): ClientEra => {
    log.push(["era", server.info.name])
    return eraWithout(server)
  }
  const handshake = new ClientHandshake.ClientHandshake(runtime, {
    description,
    logs,
    strayTexts: new StrayTexts(runtime),
    sender: {
      exchange: (row, _params, send = {}) => {
        assert.strictEqual(row.name, "initialize")
        const admission = send.admit?.()
        log.push(admission)
        if (typeof admission === "object") return failWith(admission)
        return options.respond?.({ ...send, onProgress: () => Effect.void }) ?? Effect.never
      },
      notify: (row) => Effect.sync(() => void log.push(row.name))
    },
    legacy: eraOf,
    modern: eraOf
  })
  return { handshake, log, logs, moveTo }
}

/** A client of a server that sends nothing by itself. */
const eraWithout = (server: Profile.ServerProfile): ClientEra => ({
  server,
  layers: { requests: [], attempts: [] },
  requiresTask: () => false,
  intercept: () => false,
  start: () => {},
  end: () => {},
  get members(): never {
    throw new Error("no program uses the session")
  }
})

/** Responds in the step in which the request is sent. The caller then waits for nothing. */
const respondWith = (response: JsonRpc.Response) => ({ onResponse }: SendOptions<never>) => {
  onResponse?.(response)
  return Effect.fail(RequestError.make("initialize", { _tag: "Timeout", afterMillis: 1 }))
}

const profile: Profile.ServerProfile = {
  revision: Revision.latestLegacy,
  capabilities: {},
  info: serverInfo,
  instructions: undefined
}

describe("the handshake of a client", () => {
  it.effect("[INIT-01] [INIT-08] sends initialize, stores the profile, and then sends initialized", () =>
    Effect.gen(function*() {
      const { handshake, log } = handshakeWith({ respond: respondWith(responseWith({})) })
      const outcome = yield* handshake.run
      assert.deepStrictEqual(outcome._tag === "Established" ? outcome.era.server.info : undefined, serverInfo)
      assert.deepStrictEqual(log, [
        "Initializing",
        "Send",
        ["era", "server"],
        "Operating",
        "onHandshake server",
        MethodTable.notifications["notifications/initialized"].name
      ])
    }))

  it.effect("[INIT-16] an error fails it, after the session has closed at once", () =>
    Effect.gen(function*() {
      const rejection = new McpError.McpError({ code: -32000, message: "no more clients", data: undefined })
      const { handshake, log } = handshakeWith({ respond: respondWith(JsonRpc.failure(0, rejection)) })
      const { reason } = yield* Effect.flip(handshake.run)
      assert.strictEqual(reason._tag, "Rejected")
      assert.deepStrictEqual<unknown>(log, [
        "Initializing",
        "Send",
        "Closed",
        ["abort", {
          _tag: "HandshakeFailed",
          problem: "the server rejected initialize with error -32000: no more clients"
        }],
        "closed"
      ])
    }))

  it.effect("[INIT-16] a timeout fails it, after the session has closed at once", () =>
    Effect.gen(function*() {
      const { handshake, log } = handshakeWith({
        respond: () => Effect.fail(RequestError.make("initialize", { _tag: "Timeout", afterMillis: 30_000 }))
      })
      const { reason } = yield* Effect.flip(handshake.run)
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 30_000 })
      assert.deepStrictEqual<unknown>(log.slice(-2), [
        ["abort", { _tag: "HandshakeTimeout", afterMillis: 30_000 }],
        "closed"
      ])
    }))

  it.effect("sends nothing if the session has ended before", () =>
    Effect.gen(function*() {
      const { handshake, log } = handshakeWith({ state: { _tag: "Closed", reason: requested } })
      assert.deepStrictEqual((yield* Effect.flip(handshake.run)).reason, { _tag: "Closed", reason: requested })
      assert.deepStrictEqual<unknown>(log, [
        { _tag: "Closed", reason: requested, isSent: false },
        ["end Immediate", requested],
        "closed"
      ])
    }))

  it.effect("establishes no session that an observer has closed in the same step", () =>
    Effect.gen(function*() {
      const response = responseWith({ serverInfo: { ...serverInfo, icons: [{ src: "x".repeat(20_000) }] } })
      const { handshake, log, moveTo } = handshakeWith({
        limits: { maxProfileBytes: limit },
        observe: () => moveTo({ _tag: "Closed", reason: requested }),
        respond: respondWith(response)
      })
      yield* handshake.run
      assert.deepStrictEqual(log, ["Initializing", "Send", ["era", "server"], "ProfileTrimmed", "Closed"])
    }))
})

describe("log messages of the server", () => {
  it.effect("[INIT-10] law 6: wait for the response to initialize, and are delivered in order, before later ones", () =>
    Effect.gen(function*() {
      const { handshake, log, logs } = handshakeWith({
        respond: (send) => {
          logs.receive(logMessage(1), undefined)
          logs.receive(logMessage(2), undefined)
          return respondWith(responseWith({}))(send)
        }
      })
      yield* handshake.run
      logs.receive(logMessage(3), undefined)
      assert.deepStrictEqual(log.slice(-4), [
        "notifications/initialized",
        ["deliver", 1],
        ["deliver", 2],
        ["deliver", 3]
      ])
    }))

  it("are dropped if the session ends before, and are not delivered later", () => {
    const { log, logs, moveTo } = handshakeWith({ state: { _tag: "Initializing", offer: Revision.latestLegacy } })
    logs.receive(logMessage(1), undefined)
    logs.drop()
    logs.drop()
    moveTo({ _tag: "Operating", profile })
    logs.receive(logMessage(2), undefined)
    assert.deepStrictEqual(log, [
      ["ignore", "the session closed before the response to initialize"],
      "Operating",
      ["deliver", 2]
    ])
  })

  it("law 12: more than 256 of them replace the oldest, with an event each", () => {
    const { log, logs } = handshakeWith({ state: { _tag: "Initializing", offer: Revision.latestLegacy } })
    for (let n = 1; n <= 258; n++) logs.receive(logMessage(n), undefined)
    assert.strictEqual(log.length, 2)
    logs.drop()
    assert.strictEqual(log.length, 2 + 256)
  })

  it("are ignored before initialize is sent, and while the session ends", () => {
    for (const state of [{ _tag: "Idle" }, { _tag: "Closing", reason: requested }] as const) {
      const { log, logs } = handshakeWith({ state })
      logs.receive(logMessage(1), undefined)
      assert.deepStrictEqual(log, [["ignore", `not expected while ${state._tag}`]])
    }
  })
})
