/** The calculator under the official clients, which start it as a child process, or go to where it listens. */
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "./fixtures/child.ts"
import * as V2 from "./fixtures/clientV2.ts"
import { pathOf } from "./fixtures/httpPath.ts"
import * as HttpServers from "./fixtures/httpServers.ts"
import { all, call, heardOf, OfficialClient, type Place, program, timedOutAfter } from "./fixtures/officialClient.ts"
import { type Conditions, isAboutProgress, peers } from "./fixtures/officialClients.ts"

const underClient = ({ it, over, peer, revision }: Conditions) => {
  it.effect("[INIT-04] [INIT-05] [INIT-07] shakes hands", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.strictEqual(client.revision, revision)
      assert.strictEqual(client.server?.["name"], "calculator")
      assert.deepStrictEqual(client.capabilities, { tools: {}, logging: {} })
      assert.match(client.instructions ?? "", /^Use `add`/)
    }))

  it.effect("[PING-01] answers a ping", () => Effect.flatMap(OfficialClient, ({ request }) => request.ping))

  it.effect("[TOOL-01] [TOOL-06] lists its tools", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const tools = yield* all(request.listTools, "tools")
      assert.deepStrictEqual(tools.map(({ name }) => name), ["add", "count", "fail", "crash", "log"])
    }))

  it.effect("[MSG-07] answers calls, also many at the same time", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
      const numbers = Array.from({ length: 100 }, (_, index) => index)
      const sums = yield* Effect.forEach(numbers, (a) => call("add", { a, b: 1 }), { concurrency: "unbounded" })
      assert.deepStrictEqual(sums, numbers.map((a) => ({ text: String(a + 1), isError: false })))
    }))

  it.effect("a tool that fails, and arguments that do not fit", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("fail", { message: "no beads" }), { text: "no beads", isError: true })
      const problem = "Invalid arguments for tool add: Expected number at [\"b\"]"
      assert.deepStrictEqual(
        yield* call("add", { a: 1, b: "two" }),
        revision === "2025-11-25"
          ? { text: problem, isError: true }
          : { code: -32602, message: peer.worded(-32602, problem), data: undefined }
      )
    }))

  it.effect("[MSG-10] an unknown tool is an error that names it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("subtract", {}), {
        code: -32602,
        message: peer.worded(-32602, "Unknown tool: subtract"),
        data: undefined
      })
    }))

  it.effect("a defect is told to nobody but its own log", () =>
    Effect.gen(function*() {
      const { stderr } = yield* OfficialClient
      assert.deepStrictEqual(yield* call("crash", {}), {
        code: -32603,
        message: peer.worded(-32603, "Internal error"),
        data: undefined
      })
      yield* Child.until(() => stderr().includes("the abacus has lost a bead"))
    }))

  // These clients hand a response on at once and a notification a turn later, so they lose the steps that they read
  // together with the answer. The wire has them: see "progress is written before the answer".
  it.effect("[PRG-03] [PRG-04] reports progress in order; what is read together with the answer finds nobody", () =>
    Effect.gen(function*() {
      const { complaints, request } = yield* OfficialClient
      const steps: Array<unknown> = []
      const result = yield* call("count", { to: 20, delayMs: 1 }, {
        onprogress: ({ progress, total }) => steps.push([progress, total])
      })
      assert.deepStrictEqual(result, { text: "20", isError: false })
      yield* request.ping
      assert.deepStrictEqual(steps, Array.from(steps, (_, index) => [index + 1, 20]))
      assert.strictEqual(complaints.filter(isAboutProgress).length, 20 - steps.length)
    }))

  it.effect("[CAN-04] stops when the call is aborted, and does not answer", () =>
    Effect.gen(function*() {
      const { complaints, request, stderr } = yield* OfficialClient
      let steps = 0
      const calling = yield* Effect.forkChild(
        call("count", { to: 1000, delayMs: 10 }, { onprogress: () => steps++ })
      )
      yield* Child.until(() => steps > 0)
      yield* Fiber.interrupt(calling)
      yield* Child.until(() => /count was interrupted at \d+ of 1000/.test(stderr()))
      yield* request.ping
      assert.deepStrictEqual(complaints.filter((complaint) => !isAboutProgress(complaint)), [])
    }))

  it.effect("[CAN-04] stops when the client's time is up", () =>
    Effect.gen(function*() {
      const { stderr } = yield* OfficialClient
      let steps = 0
      const hasBegun = Child.until(() => steps > 0)
      const result = yield* timedOutAfter("count", { to: 999, delayMs: 10 }, hasBegun, { onprogress: () => steps++ })
      assert.notProperty(result, "text")
      yield* Child.until(() => /count was interrupted at \d+ of 999/.test(stderr()))
    }))

  it.effect("[LOG-01] [LOG-03] sends log messages", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.deepStrictEqual(yield* call("log", { level: "warning", message: "nearly out of beads" }), {
        text: "logged",
        isError: false
      })
      assert.deepStrictEqual(heardOf(client, "notifications/message"), [{
        level: "warning",
        logger: "calculator",
        data: "nearly out of beads"
      }])
    }))

  // Over HTTP the server serves others as well.
  if (over !== "stdio") return

  it.effect("[STD-07] [STD-10] exits when the client closes", () =>
    Effect.gen(function*() {
      const { close, complaints, pid } = yield* OfficialClient
      yield* close
      yield* Child.until(() => !Child.isRunning(pid))
      assert.deepStrictEqual(complaints.filter((complaint) => !isAboutProgress(complaint)), [])
    }))
}

for (const peer of peers) {
  for (const revision of Revision.supported) {
    describe(`the calculator under ${peer.name} at ${revision}`, () => {
      layer(peer.connect(peer.program("calculator", revision), revision), { excludeTestServices: true })((it) => {
        underClient({ it, over: "stdio", peer, revision })
      })
    })
  }
}

const overHttp = peers.flatMap((peer) =>
  Revision.supported.filter((revision) => revision !== "2024-11-05").map((revision) => ({
    path: pathOf("calculator", "adaptive", revision, peer.name),
    peer,
    revision
  }))
)

layer(HttpServers.layer(...overHttp.map(({ path }) => path)), { excludeTestServices: true })((it) => {
  for (const { path, peer, revision } of overHttp) {
    it.layer(HttpServers.at(path, (place) => peer.connect(place, revision)))(
      `the calculator over HTTP under ${peer.name} at ${revision}`,
      (it) => underClient({ it, over: "adaptive", peer, revision })
    )
  }
})

/** The calculator, told to listen. */
const listening = Effect.gen(function*() {
  const started = yield* Child.program(process.execPath, [Child.calculator, "--http", "0"])
  const { pid, stderr } = started
  const place: Place = { _tag: "Address", url: yield* HttpServers.addressOf(started), pid, stderr }
  return { ...started, place }
})

describe("the calculator's program, told to listen", () => {
  for (const peer of peers) {
    it.live(`is told to end by a signal with a call of ${peer.name} in hand: answers it, and exits`, () =>
      Effect.gen(function*() {
        const { exited, kill, place } = yield* listening
        const { signal, stderr } = yield* Effect.gen(function*() {
          let steps = 0
          const calling = yield* Effect.forkChild(
            call("count", { to: 5, delayMs: 20 }, { onprogress: () => steps++ })
          )
          yield* Child.until(() => steps > 0)
          kill("SIGTERM")
          assert.deepStrictEqual(yield* Fiber.join(calling), { text: "5", isError: false })
          return yield* exited
        }).pipe(Effect.provide(peer.connect(place, Revision.latest)))
        assert.notInclude(stderr, "interrupted")
        assert.isNull(signal)
      }))
  }
})

describe("the calculator and what comes after the handshake", () => {
  it.live("a client that probes for the stateless era falls back to the handshake", () =>
    Effect.gen(function*() {
      const { revision } = yield* OfficialClient
      assert.strictEqual(revision, "2025-11-25")
      assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
    }).pipe(Effect.provide(V2.layerProbing(program(Child.calculator)))))

  it.live("so does one over HTTP", () =>
    Effect.gen(function*() {
      const { place } = yield* listening
      yield* Effect.gen(function*() {
        const { http, revision } = yield* OfficialClient
        assert.strictEqual(revision, "2025-11-25")
        assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
        assert.strictEqual(http?.calls[0]?.status, 400)
      }).pipe(Effect.provide(V2.layerProbing(place)))
    }))
})
