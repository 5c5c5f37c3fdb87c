/** The seal and the used states of a server of groups, wherever the program provides them. */
import type { InputRequired } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpServer } from "@effect-mcp/server"
import { ClientSession, UsedStates } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as path from "node:path"
import * as Deployments from "./fixtures/deployments.ts"
import { connect, info } from "./support/connect.ts"
import { serve } from "./support/hosted.ts"

const { sealOf } = Deployments

const Motto = McpGroup.make("motto", Tool.make("motto"))

const motto = Motto.toLayer((handlers) => handlers.tool("motto", () => Effect.void))

/** The client asks its user by the program, and not by handlers. */
const client = { capabilities: { elicitation: { form: {} } } }

type Session = ClientSession.ClientSessionShape

type Groups = Layer.Layer<never, never, McpServer.McpServer>

/** Calls the tool, whose questions are left to the program. */
const deploy = (session: Session, retry: InputRequired.Retry = {}, name = "deploy") =>
  session.request("tools/call", { name, ...retry }, { questions: "program" })

/** Calls the tool, and returns the additions with which the program repeats the call. */
const asked = Effect.fnUntraced(function*(session: Session, name?: string): Effect.fn.Return<InputRequired.Retry> {
  const { reason } = yield* Effect.orDie(Effect.flip(deploy(session, {}, name)))
  if (reason._tag !== "InputRequired") return yield* Effect.die(reason)
  const { inputRequests = {}, requestState = "" } = reason.required
  const answer = { action: "accept", content: { sure: true } }
  return {
    inputResponses: Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer])),
    requestState
  }
})

const answered = (session: Session, retry: InputRequired.Retry, name?: string) =>
  Effect.map(Effect.exit(deploy(session, retry, name)), (exit) => {
    if (Exit.isFailure(exit)) return "rejected"
    const [block] = exit.value.content
    return block?.type === "text" ? block.text : undefined
  })

/** Asks at one server, and answers at another one. */
const across = Effect.fnUntraced(function*(
  one: Effect.Effect<Session, unknown, Scope.Scope>,
  other: Effect.Effect<Session, unknown, Scope.Scope> = one,
  name?: string
) {
  const retry = yield* asked(yield* one, name)
  return yield* answered(yield* other, retry, name)
})

const inProcess = (groups: Groups) => connect(groups, { client })

const hosted = (groups: Groups) => Effect.flatMap(serve(groups, client), (connecting) => connecting())

const seal = sealOf("a common secret")

/** The places in which a program can provide a seal to groups. */
const places: ReadonlyArray<readonly [place: string, groups: Groups, tool?: string]> = [
  ["to the Layer of the group", Layer.provide(Deployments.layer, seal)],
  ["to one group of two", Layer.merge(motto, Layer.provide(Deployments.layer, seal))],
  ["to a group without questions", Layer.merge(Layer.provide(motto, seal), Deployments.layer)],
  ["beside the groups", Layer.mergeAll(motto, Deployments.layer, seal)],
  ["to a mounted group", McpMount.prefixed("work", Layer.provide(Deployments.layer, seal)), "work_deploy"]
]

describe("a server in memory", () => {
  // The default would be that of the process, and would log a warning.
  it.effect("has a secret of its own, unless the program provides a seal", () =>
    Effect.gen(function*() {
      const one = yield* inProcess(Deployments.layer)
      assert.strictEqual(yield* across(Effect.succeed(one)), "deployed")
      assert.strictEqual(yield* across(Effect.succeed(one), inProcess(Deployments.layer)), "rejected")
      const provided = Effect.provide(inProcess(Deployments.layer), seal)
      assert.strictEqual(yield* across(provided, provided), "deployed")
    }).pipe(Effect.scoped))
})

describe("a seal that is provided", () => {
  for (const [place, groups, tool] of places) {
    it.effect(`${place} is the seal of the server`, () =>
      Effect.gen(function*() {
        // Each connection has a server of its own.
        for (const connecting of [inProcess(groups), hosted(groups)]) {
          assert.strictEqual(yield* across(connecting, connecting, tool), "deployed")
        }
        assert.strictEqual(yield* across(inProcess(groups), hosted(groups), tool), "deployed")
        const other = Effect.provide(hosted(groups), sealOf("another secret"))
        assert.strictEqual(yield* across(hosted(groups), other, tool), "deployed")
      }).pipe(Effect.scoped))
  }

  it.effect("to the server is that of its groups", () =>
    Effect.gen(function*() {
      const provided = Effect.provide(hosted(Deployments.layer), seal)
      assert.strictEqual(yield* across(provided), "deployed")
      assert.strictEqual(yield* across(provided, hosted(Layer.provide(Deployments.layer, seal))), "deployed")
      const other = Effect.provide(hosted(Deployments.layer), sealOf("another secret"))
      assert.strictEqual(yield* across(provided, other), "rejected")
    }).pipe(Effect.scoped))

  it.effect("to two groups, and is not the same, is a defect that names both", () =>
    Effect.gen(function*() {
      const groups = Layer.merge(
        Layer.provide(Deployments.layer, seal),
        Layer.provide(motto, sealOf("another secret"))
      )
      const problem = JSON.stringify(yield* Effect.exit(hosted(groups)))
      for (
        const part of ["deployments", "motto", "was provided with a RequestStateSeal", "provide one to the server"]
      ) {
        assert.include(problem, part)
      }
    }).pipe(Effect.scoped))

  it.effect("to a group of a running server is a defect, unless it is that of the server", () =>
    Effect.gen(function*() {
      const host = yield* Layer.build(
        McpServer.layerHost(Layer.provide(Deployments.layer, seal), { info, declare: ["tools"] })
      )
      const adding = (given: Layer.Layer<never>) =>
        Effect.exit(
          Effect.scoped(
            Effect.provide(Layer.build(Layer.provide(motto, given)), Context.pick(McpServer.McpServer)(host))
          )
        )
      assert.isTrue(Exit.isSuccess(yield* adding(Layer.empty)))
      const exit = yield* adding(sealOf("another secret"))
      assert.include(JSON.stringify(exit), "the server has started with another one")
    }).pipe(Effect.scoped))

  it.effect("to groups whose handlers go to a server without sessions is a defect", () =>
    Effect.gen(function*() {
      const making = McpServer.makeStatelessHandlers(Layer.provide(Deployments.layer, seal))
      const exit = yield* Effect.exit(making)
      assert.include(JSON.stringify(exit), "cannot pass RequestStateSeal on; provide it to the server")
      // The seal of the program is that of the server as well.
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(Effect.provide(making, seal))))
    }).pipe(Effect.scoped))
})

describe("used states that are provided to a group", () => {
  it.effect("are those of the server", () =>
    Effect.gen(function*() {
      const used = UsedStates.makeMemory()
      const groups = Deployments.layer.pipe(
        Layer.provide(seal),
        Layer.provide(Layer.succeed(UsedStates.UsedStates, used))
      )
      const server = { requestState: { singleUse: true } }
      const connecting = connect(groups, { client, server })
      const retry = yield* asked(yield* connecting)
      assert.strictEqual(yield* answered(yield* connecting, retry), "deployed")
      assert.strictEqual(yield* answered(yield* connecting, retry), "rejected")
      // The default is another store.
      const alone = connect(Layer.provide(Deployments.layer, seal), { client, server })
      assert.strictEqual(yield* answered(yield* alone, retry), "deployed")
    }).pipe(Effect.scoped))
})

describe("a stdio program", () => {
  const printed: Array<string> = []

  /** Starts the program, and connects a client. */
  const program = (...args: ReadonlyArray<string>) =>
    Effect.provide(
      ClientSession.make({ info, ...client }),
      StdioClient.layerNode({
        command: process.execPath,
        args: [path.join(import.meta.dirname, "fixtures/deployments.ts"), ...args],
        env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
        stderr: (line) => void printed.push(line)
      })
    )

  it.live("has the seal of its groups, which other processes share", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* across(program("a common secret")), "deployed")
    }).pipe(Effect.scoped))

  it.live("seals with a secret of its own otherwise, and warns of nothing that it cannot change", () =>
    Effect.gen(function*() {
      printed.length = 0
      const session = yield* program()
      assert.strictEqual(yield* answered(session, yield* asked(session)), "deployed")
      assert.deepStrictEqual(printed, [])
      assert.strictEqual(yield* across(program()), "rejected")
    }).pipe(Effect.scoped))
})
