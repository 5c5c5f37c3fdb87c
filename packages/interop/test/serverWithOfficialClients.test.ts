/** The calculator with the official clients, over stdio as their child process and over HTTP. */
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"
import * as V2 from "./fixtures/clientV2.ts"
import { revisions, revisionsOverHttp } from "./fixtures/coverage.ts"
import { pathOf } from "./fixtures/httpServerPaths.ts"
import * as HttpServers from "./fixtures/httpServers.ts"
import {
  all,
  call,
  notificationsOf,
  OfficialClient,
  program,
  type Target,
  timedOutAfter
} from "./fixtures/officialClient.ts"
import { type Conditions, isLateProgress, peers } from "./fixtures/officialClients.ts"

const testsWithClient = ({ it, over, peer, revision }: Conditions) => {
  it.effect("[INIT-04] [INIT-05] [INIT-07] completes the handshake", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.strictEqual(client.revision, revision)
      assert.strictEqual(client.server?.["name"], "calculator")
      assert.deepStrictEqual(client.capabilities, { tools: { listChanged: true }, logging: {} })
      assert.match(client.instructions ?? "", /^Use `add`/)
    }))

  it.effect("[PING-01] answers ping", () => Effect.flatMap(OfficialClient, ({ request }) => request.ping))

  it.effect("[TOOL-01] [TOOL-06] lists its tools", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const tools = yield* all(request.listTools, "tools")
      assert.deepStrictEqual(tools.map(({ name }) => name), ["add", "count", "crash", "fail", "log"])
    }))

  it.effect("[MSG-07] answers one call and many concurrent calls", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
      const numbers = Array.from({ length: 100 }, (_, index) => index)
      const sums = yield* Effect.forEach(numbers, (a) => call("add", { a, b: 1 }), { concurrency: "unbounded" })
      assert.deepStrictEqual(sums, numbers.map((a) => ({ text: String(a + 1), isError: false })))
    }))

  it.effect("answers a failed tool and invalid arguments", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("fail", { message: "no beads" }), { text: "no beads", isError: true })
      const problem = "Invalid arguments for the tool \"add\": b: Expected number, got \"two\""
      assert.deepStrictEqual(
        yield* call("add", { a: 1, b: "two" }),
        revision === "2025-11-25"
          ? { text: problem, isError: true }
          : { code: -32602, message: peer.errorMessage(-32602, problem), data: undefined }
      )
    }))

  it.effect("[MSG-10] rejects an unknown tool with an error that names it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* call("subtract", {}), {
        code: -32602,
        message: peer.errorMessage(-32602, "Unknown tool: subtract"),
        data: undefined
      })
    }))

  it.effect("a defect is logged and not sent to the client", () =>
    Effect.gen(function*() {
      const { stderr } = yield* OfficialClient
      assert.deepStrictEqual(yield* call("crash", {}), {
        code: -32603,
        message: peer.errorMessage(-32603, "Internal error"),
        data: undefined
      })
      yield* Child.until(() => stderr().includes("the abacus has lost a bead"))
    }))

  // These clients dispatch a response at once and a notification one turn later, so they lose progress that they read
  // together with the response. The server sends all of it: the notebook's progress tests check the received messages.
  it.effect("[PRG-03] [PRG-04] sends progress in order; this client loses what it reads with the response", () =>
    Effect.gen(function*() {
      const { errors, request } = yield* OfficialClient
      const steps: Array<unknown> = []
      const result = yield* call("count", { to: 20, delayMs: 1 }, {
        onprogress: ({ progress, total }) => steps.push([progress, total])
      })
      assert.deepStrictEqual(result, { text: "20", isError: false })
      yield* request.ping
      assert.deepStrictEqual(steps, Array.from(steps, (_, index) => [index + 1, 20]))
      assert.strictEqual(errors.filter(isLateProgress).length, 20 - steps.length)
    }))

  it.effect("[CAN-04] an aborted call is interrupted and not answered", () =>
    Effect.gen(function*() {
      const { errors, request, stderr } = yield* OfficialClient
      let steps = 0
      const calling = yield* Effect.forkChild(
        call("count", { to: 1000, delayMs: 10 }, { onprogress: () => steps++ })
      )
      yield* Child.until(() => steps > 0)
      yield* Fiber.interrupt(calling)
      yield* Child.until(() => /count was interrupted at \d+ of 1000/.test(stderr()))
      yield* request.ping
      assert.deepStrictEqual(errors.filter((error) => !isLateProgress(error)), [])
    }))

  it.effect("a call that times out at the client is interrupted", () =>
    Effect.gen(function*() {
      const { stderr } = yield* OfficialClient
      let steps = 0
      const started = Child.until(() => steps > 0)
      const result = yield* timedOutAfter("count", { to: 999, delayMs: 10 }, started, { onprogress: () => steps++ })
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
      assert.deepStrictEqual(notificationsOf(client, "notifications/message"), [{
        level: "warning",
        logger: "calculator",
        data: "nearly out of beads"
      }])
    }))

  // Over HTTP the server continues to serve other clients.
  if (over !== "stdio") return

  it.effect("[STD-07] [STD-10] exits when the client closes", () =>
    Effect.gen(function*() {
      const { close, errors, pid } = yield* OfficialClient
      yield* close
      yield* Child.until(() => !Child.isRunning(pid))
      assert.deepStrictEqual(errors.filter((error) => !isLateProgress(error)), [])
    }))
}

for (const peer of peers) {
  for (const revision of revisions) {
    describe(`the calculator with ${peer.name} at ${revision}`, () => {
      layer(peer.connect(peer.program("calculator", revision), revision), { excludeTestServices: true })((it) => {
        testsWithClient({ it, over: "stdio", peer, revision })
      })
    })
  }
}

const overHttp = peers.flatMap((peer) =>
  revisionsOverHttp.map((revision) => ({
    path: pathOf("calculator", "adaptive", revision, peer.name),
    peer,
    revision
  }))
)

// The layer has a name, so that it is built once: the layers inside one without a name build it again for themselves.
layer(HttpServers.layer(...overHttp.map(({ path }) => path)), { excludeTestServices: true })(
  "the calculator over HTTP",
  (it) => {
    for (const { path, peer, revision } of overHttp) {
      it.layer(HttpServers.at(path, (target) => peer.connect(target, revision)))(
        `with ${peer.name} at ${revision}`,
        (it) => testsWithClient({ it, over: "adaptive", peer, revision })
      )
    }
  }
)

const calculator = await joinedProgram(Child.calculator)

/** Starts the calculator as an HTTP server. */
const startHttp = Effect.gen(function*() {
  const program = yield* Child.program(process.execPath, [calculator, "--http", "0"])
  const { pid, stderr } = program
  const target: Target = { _tag: "Address", url: yield* HttpServers.addressOf(program), pid, stderr }
  return { ...program, target }
})

describe("the calculator program over HTTP", () => {
  for (const peer of peers) {
    it.live(`answers an in-flight call of ${peer.name} after SIGTERM, and exits`, () =>
      Effect.gen(function*() {
        const { exited, kill, target } = yield* startHttp
        const { signal, stderr } = yield* Effect.gen(function*() {
          let steps = 0
          const calling = yield* Effect.forkChild(
            call("count", { to: 5, delayMs: 20 }, { onprogress: () => steps++ })
          )
          yield* Child.until(() => steps > 0)
          kill("SIGTERM")
          assert.deepStrictEqual(yield* Fiber.join(calling), { text: "5", isError: false })
          return yield* exited
        }).pipe(Effect.provide(peer.connect(target, Revision.latestLegacy)))
        assert.notInclude(stderr, "interrupted")
        assert.isNull(signal)
      }))
  }
})

describe("the calculator and clients of later revisions", () => {
  it.live("a client that probes for a revision without a handshake finds one", () =>
    Effect.gen(function*() {
      const { revision } = yield* OfficialClient
      assert.strictEqual(revision, "2026-07-28")
      assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
    }).pipe(Effect.provide(V2.layerProbing(program(calculator)))))

  it.live("a client that probes over HTTP finds one as well", () =>
    Effect.gen(function*() {
      const { target } = yield* startHttp
      yield* Effect.gen(function*() {
        const { http, revision } = yield* OfficialClient
        assert.strictEqual(revision, "2026-07-28")
        assert.deepStrictEqual(yield* call("add", { a: 15, b: 27 }), { text: "42", isError: false })
        assert.strictEqual(http?.calls[0]?.status, 200)
      }).pipe(Effect.provide(V2.layerProbing(target)))
    }))
})
