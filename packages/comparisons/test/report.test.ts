/** Program c: a server over stdio whose tool logs, reports progress, asks the user and samples the client's model. */
import { type Elicitation, Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Child from "./fixtures/child.ts"
import { compare } from "./fixtures/comparison.ts"

/** The user of the client, and all that the server sends. */
class Host extends Context.Service<Host, {
  answer: Elicitation.ElicitResult
  readonly received: Array<readonly [kind: string, value: unknown]>
}>()("test/Host") {}

const host = Layer.sync(Host, (): Host["Service"] => ({ answer: { action: "cancel" }, received: [] }))

const session = (file: string) =>
  ClientSession.layer({
    info: { name: "comparison", version: "1.0.0" },
    // The official SDK asks a client of 2026-07-28 only by tools that are written for it.
    revisions: Revision.legacy,
    capabilities: { elicitation: { form: {} }, sampling: {} },
    handlers: {
      "elicitation/create": (params) =>
        Effect.map(Host, ({ answer, received }) => {
          // An absent mode means a form.
          received.push(["question", "mode" in params ? params : { mode: "form", ...params }])
          return answer
        }),
      "sampling/createMessage": (params) =>
        Effect.map(Host, ({ received }) => {
          received.push(["prompt", params])
          return { role: "assistant", model: "parrot", content: { type: "text", text: "buzz" } }
        }),
      "notifications/message": (message) => Effect.map(Host, ({ received }) => void received.push(["log", message]))
    }
  }).pipe(
    Layer.provide(StdioClient.layerNode({ command: process.execPath, args: [file], env: Child.environment }))
  )

const start = (file: string) => Layer.provideMerge(session(file), host)

/** Calls the tool while the user gives this answer. Returns the result and all that the server sent before. */
const report = Effect.fnUntraced(function*(answer: Elicitation.ElicitResult) {
  const { callTool } = yield* ClientSession.ClientSession
  const state = yield* Host
  state.answer = answer
  state.received.length = 0
  const result = yield* callTool("report", { topic: "bees" }, {
    onProgress: ({ message, progress, total }) =>
      Effect.sync(() => state.received.push(["progress", [progress, total, message]]))
  })
  return { result, received: state.received }
})

const form = {
  mode: "form",
  message: "Who is the report on bees for?",
  requestedSchema: {
    type: "object",
    properties: {
      audience: { type: "string", enum: ["kids", "experts"] },
      words: { type: "integer", minimum: 10, maximum: 500 }
    },
    required: ["audience", "words"]
  }
}

const reports = (log: unknown) =>
  Effect.gen(function*() {
    const { received, result } = yield* report({ action: "accept", content: { audience: "kids", words: 20 } })
    assert.deepStrictEqual(received, [
      ["log", log],
      ["progress", [0, 2, "asking"]],
      ["question", form],
      ["progress", [1, 2, "writing"]],
      [
        "prompt",
        {
          messages: [{ role: "user", content: { type: "text", text: "Write 20 words on bees for kids" } }],
          maxTokens: 1000
        }
      ],
      ["progress", [2, 2, undefined]]
    ])
    assert.deepStrictEqual(result.structuredContent, { text: "buzz", model: "parrot" })
    assert.isNotTrue(result.isError)
  })

const isToldToModel = (action: "decline" | "cancel") =>
  Effect.gen(function*() {
    const { received, result } = yield* report({ action })
    assert.isTrue(result.isError)
    assert.deepStrictEqual(received.map(([kind]) => kind), ["log", "progress", "question"])
  })

const failsInternally = Effect.gen(function*() {
  const { reason } = yield* Effect.flip(report({ action: "cancel" }))
  assert(reason._tag === "ErrorResponse")
  assert.strictEqual(reason.error.code, -32603)
})

const declares = (...capabilities: ReadonlyArray<string>) =>
  Effect.map(
    ClientSession.ClientSession,
    ({ profile }) => assert.sameMembers(Object.keys(profile.capabilities), [...capabilities])
  )

const declaresCompletions = {
  instead: "declares completions as well, although it completes nothing",
  check: declares("tools", "logging", "completions")
}

compare({
  program: "c",
  start,
  behaviours: {
    "declares tools and logging": declares("tools", "logging"),
    "logs, reports progress, asks the user, samples the model and returns the text": reports({
      level: "info",
      logger: "report",
      data: { topic: "bees" }
    }),
    "a user who declines is an error that the model reads": isToldToModel("decline"),
    "a user who cancels is an error that the model reads": isToldToModel("cancel")
  },
  deviations: {
    fastmcp: {
      "declares tools and logging": declaresCompletions,
      "logs, reports progress, asks the user, samples the model and returns the text": {
        instead: "does the same, and logs without a logger, in data of its own shape",
        check: reports({ level: "info", data: { message: "report", context: { topic: "bees" } } })
      }
    },
    "effect-ai": {
      "declares tools and logging": declaresCompletions,
      "a user who cancels is an error that the model reads": {
        instead: "a user who cancels interrupts the tool, which fails with -32603",
        check: failsInternally
      }
    }
  }
})
