/** Properties of every server of groups, over arbitrary members and results. */
import { McpGroup, McpPrompt, McpResource, McpServer } from "@effect-mcp/server"
import type { RequestError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { describeForBothEras } from "./support/eras.ts"
import { validator } from "./toolSchemas.ts"

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, due: Schema.Date }) {}

const successes: ReadonlyArray<readonly [name: string, schema: Schema.Codec<unknown, unknown>]> = [
  ["a struct", Schema.Struct({ a: Schema.Finite, b: Schema.optionalKey(Schema.NonEmptyString) })],
  ["a class", Task],
  ["numbers", Schema.Struct({ a: Schema.Number, b: Schema.Int })],
  ["a union", Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.BigInt })])],
  ["a record", Schema.Record(Schema.String, Schema.Array(Schema.Boolean))]
]

/** Results that no definition allows, which a handler returns after a cast, or by JavaScript. */
const strange: ReadonlyArray<unknown> = [
  undefined,
  null,
  1,
  "text",
  [],
  {},
  { a: Number.NaN },
  { a: Infinity, b: 1.5 },
  { a: 1, b: "" },
  { a: "1" },
  { b: 1n },
  { x: [1] },
  { id: 1, due: "soon" },
  { id: 1.5, due: new Date() },
  { id: 1, due: new Date(Number.NaN) },
  Object.defineProperty({}, "a", {
    enumerable: true,
    get: () => {
      throw new Error("no")
    }
  }),
  () => 1,
  Symbol("a"),
  new Map([["a", 1]])
]

/** Returns the code of an error response. */
const codeOf = ({ reason }: RequestError.RequestError): unknown =>
  reason._tag === "ErrorResponse" ? reason.error.code : reason

describeForBothEras("a tool never answers what its output schema forbids", ({ connect }) => {
  for (const [name, schema] of successes) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const usual = yield* Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: 30, seed: 1 })
        const values = [...usual, ...strange]
        const group = McpGroup.make(
          "any",
          Tool.make("any", { parameters: Schema.Struct({ index: Schema.Int }), success: schema })
        )
        const session = yield* connect(
          group.toLayer((handlers) => handlers.tool("any", ({ index }) => Effect.succeed(values[index])))
        )
        const [listed] = (yield* session.listTools()).tools
        const isValid = validator(listed?.outputSchema ?? assert.fail("no output schema"))
        const answered = yield* Effect.forEach(values, (_, index) =>
          Effect.match(session.callTool("any", { index }), {
            onFailure: codeOf,
            onSuccess: ({ content: [block], isError, structuredContent }) => {
              assert.isUndefined(isError)
              assert.isTrue(isValid(structuredContent), JSON.stringify(structuredContent))
              assert.deepStrictEqual(block?.type === "text" && JSON.parse(block.text), structuredContent)
              return "valid"
            }
          }))
        assert.deepStrictEqual(answered.slice(0, 30), usual.map(() => "valid"))
        assert.deepStrictEqual([...new Set(answered)].toSorted(), [-32603, "valid"])
      }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))
  }
})

/** Groups that each need other capabilities. */
const kinds = {
  tools: McpGroup.make("tools", Tool.make("a")).toLayer((handlers) => handlers.tool("a", () => Effect.void)),
  prompts: McpGroup.make("prompts", McpPrompt.make("a")).toLayer((handlers) =>
    handlers.prompt("a", () => Effect.succeed(""))
  ),
  resources: McpGroup.make("resources", McpResource.make("a", { uri: "x://a" })).toLayer((handlers) =>
    handlers.resource("a", Effect.succeed(""))
  ),
  templates: McpGroup.make("templates", McpResource.template("b", { uri: "y://{b}" })).toLayer((handlers) =>
    handlers.template("b", ({ b }) => Effect.succeed(b))
  ),
  completions: McpGroup.make("completions", McpPrompt.make("c", { arguments: { d: Schema.Literals(["e"]) } })).toLayer(
    (handlers) => handlers.prompt("c", () => Effect.succeed(""))
  )
}

type Kind = keyof typeof kinds

const names: ReadonlyArray<Kind> = ["tools", "prompts", "resources", "templates", "completions"]

const subsets: ReadonlyArray<ReadonlyArray<Kind>> = Array.from(
  { length: 2 ** names.length },
  (_, bits) => names.filter((_, index) => (bits >> index) % 2 === 1)
)

/** The capabilities that members of these kinds need. */
const needed = (present: ReadonlyArray<Kind>): ReadonlyArray<string> => {
  const has = (...any: ReadonlyArray<Kind>) => any.some((kind) => present.includes(kind))
  return [
    ...(has("completions") ? ["completions"] : []),
    "logging",
    ...(has("prompts", "completions") ? ["prompts"] : []),
    ...(has("resources", "templates") ? ["resources"] : []),
    ...(has("tools") ? ["tools"] : [])
  ]
}

/** The methods of each capability, without sessions. */
const methods: { readonly [capability: string]: ReadonlyArray<string> } = {
  tools: ["tools/list", "tools/call"],
  prompts: ["prompts/list", "prompts/get"],
  resources: ["resources/list", "resources/templates/list", "resources/read"],
  completions: ["completion/complete"],
  logging: []
}

describeForBothEras("a server declares what is there, and has handlers for what it declares", ({ connect }) => {
  for (const present of subsets) {
    it.effect(present.length === 0 ? "with no member" : `with ${present.join(", ")}`, () =>
      Effect.gen(function*() {
        const groups = Layer.mergeAll(Layer.empty, ...present.map((kind) => kinds[kind]))
        const { profile } = yield* connect(groups)
        assert.deepStrictEqual(Object.keys(profile.capabilities).toSorted(), needed(present))
        const handlers = yield* McpServer.makeStatelessHandlers(groups)
        assert.deepStrictEqual(
          Object.keys(handlers).toSorted(),
          [
            ...needed(present).flatMap((capability) => methods[capability] ?? []),
            // Clients of 2026-07-28 listen to changes of lists and of resources.
            ...(needed(present).some((capability) => capability !== "logging" && capability !== "completions")
              ? ["subscriptions/listen"]
              : [])
          ].toSorted()
        )
      }).pipe(Effect.scoped))
  }
})

describeForBothEras("lists have the members that are registered, after every addition and removal", ({ connect }) => {
  for (const seed of [1, 2, 3]) {
    it.effect(`with the steps of seed ${seed}`, () =>
      Effect.gen(function*() {
        const servers: Array<McpServer.McpServerShape> = []
        const steps = yield* Arbitrary.sampleEffect(Arbitrary.schema(Schema.Literals(names)), { count: 40, seed })
        const session = yield* connect(
          Layer.effectDiscard(Effect.map(McpServer.McpServer, (server) => servers.push(server))),
          { server: { declare: ["tools", "prompts", "resources", "completions"] } }
        )
        const [server = assert.fail("no server")] = servers
        const open = new Map<Kind, Scope.Closeable>()
        for (const kind of steps) {
          const scope = open.get(kind)
          if (scope === undefined) {
            const opened = yield* Scope.make()
            const group: Layer.Layer<never, never, McpServer.McpServer> = kinds[kind]
            yield* Layer.buildWithScope(Layer.provide(group, Layer.succeed(McpServer.McpServer, server)), opened)
            open.set(kind, opened)
          } else {
            yield* Scope.close(scope, Exit.void)
            open.delete(kind)
          }
          const expected = (kind: Kind, name: string) => open.has(kind) ? [name] : []
          const { tools } = yield* session.listTools()
          const { prompts } = yield* session.listPrompts()
          const { resources } = yield* session.listResources()
          const { resourceTemplates } = yield* session.listResourceTemplates()
          assert.deepStrictEqual(
            [tools, prompts, resources, resourceTemplates].map((list) => list.map(({ name }) => name)),
            [
              expected("tools", "a"),
              [...expected("prompts", "a"), ...expected("completions", "c")],
              expected("resources", "a"),
              expected("templates", "b")
            ]
          )
        }
      }).pipe(Effect.scoped))
  }
})
