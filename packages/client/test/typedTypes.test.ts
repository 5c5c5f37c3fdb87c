/** The types of calls that are typed by the definitions of a group. */
import type { McpCall, McpClient, McpTypedClient, TypedCallError } from "@effect-mcp/client"
import type { Completion, Content, Prompt, Resource } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpPrompt, McpResource, McpTool } from "@effect-mcp/server"
import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import type * as Stream from "effect/Stream"

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, due: Schema.Date }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {}
class Encoder extends Context.Service<Encoder, number>()("Encoder") {}
class Decoder extends Context.Service<Decoder, number>()("Decoder") {}
class Progress extends Context.Service<Progress, number>()("Progress") {}
class Auth extends McpMiddleware.Service<Auth, { provides: Decoder }>()("Auth") {}

/** A number whose codec needs services. */
const Local = Schema.Finite.pipe(Schema.decodeTo(Schema.Finite, {
  decode: SchemaGetter.transformEffect((value: number) => Effect.as(Decoder, value)),
  encode: SchemaGetter.transformEffect((value: number) => Effect.as(Encoder, value))
}))
const LocalText = Schema.FiniteFromString.pipe(Schema.decodeTo(Local))

const Tasks = McpGroup.make(
  "tasks",
  Tool.make("get", { parameters: Schema.Struct({ id: Schema.Int }), success: Task, failure: NoSuchTask }),
  Tool.make("tick"),
  Tool.make("find", { parameters: Schema.Struct({ word: Schema.optionalKey(Schema.String) }), success: Schema.BigInt }),
  Tool.make("local", { parameters: Schema.Struct({ at: Local }), success: Schema.Date }),
  Tool.make("locals", { success: Local }),
  Tool.make("draw", { success: McpTool.Content }),
  Tool.dynamic("raw", { parameters: { type: "object" }, success: Schema.Int }),
  McpResource.make("counter", { uri: "tasks://counter", content: Schema.Struct({ at: Schema.Date, by: Local }) }),
  McpResource.make("notes", { uri: "tasks://notes" }),
  McpResource.template("task", {
    uri: "tasks://{owner}/{id}{?since}",
    parameters: { id: LocalText, since: Schema.optionalKey(Schema.DateFromString) },
    content: Task
  }),
  McpResource.template("file", { uri: "file://{+path}" }),
  McpPrompt.make("plan", {
    arguments: { day: Schema.Literals(["monday", "sunday"]), many: Schema.optionalKey(Schema.FiniteFromString) }
  }),
  McpPrompt.make("motto")
).middleware(Auth)

declare const client: McpClient.McpClientShape

type CallError = McpCall.CallError
type ToolError =
  | TypedCallError.ToolFailedError
  | TypedCallError.InvalidArgumentsError
  | TypedCallError.UnexpectedResultError
  | CallError
type ReadError = TypedCallError.UnexpectedResultError | CallError

/** Has the functions of a client, none of which run. */
const typed = (): McpTypedClient.McpTypedClient<(typeof Tasks)["members"][number]> => client.of(Tasks)

describe("a typed client", () => {
  it("has the parameters, the success, the failure and the services of each tool", () => {
    const calls = () => {
      const { tools } = typed()
      expectTypeOf(tools.get({ id: 1 })).toEqualTypeOf<Effect.Effect<Task, NoSuchTask | ToolError>>()
      expectTypeOf(tools.tick()).toEqualTypeOf<Effect.Effect<void, ToolError>>()
      expectTypeOf(tools.find()).toEqualTypeOf<Effect.Effect<bigint, ToolError>>()
      expectTypeOf(tools.find({ word: "a" })).toEqualTypeOf<Effect.Effect<bigint, ToolError>>()
      expectTypeOf(tools.local({ at: 1 })).toEqualTypeOf<Effect.Effect<Date, ToolError, Encoder>>()
      expectTypeOf(tools.locals()).toEqualTypeOf<Effect.Effect<number, ToolError, Decoder>>()
      expectTypeOf(tools.draw()).toEqualTypeOf<Effect.Effect<ReadonlyArray<Content.ContentBlock>, ToolError>>()
      expectTypeOf(tools.raw({ any: [1] })).toEqualTypeOf<Effect.Effect<number, ToolError>>()
      expectTypeOf(tools.locals({}, { onProgress: () => Effect.asVoid(Progress) })).toEqualTypeOf<
        Effect.Effect<number, ToolError, Decoder | Progress>
      >()
    }
    expectTypeOf(calls).returns.toEqualTypeOf<void>()
    type Tools = ReturnType<typeof typed>["tools"]
    expectTypeOf<keyof Tools>().toEqualTypeOf<"get" | "tick" | "find" | "local" | "locals" | "draw" | "raw">()
    expectTypeOf<Parameters<Tools["get"]>[0]>().toEqualTypeOf<{ readonly id: number }>()
  })

  it("has the contents of each resource, by its schema or as they are", () => {
    const reads = () => {
      const { resources } = typed()
      expectTypeOf(resources.counter()).toEqualTypeOf<
        Effect.Effect<{ readonly at: Date; readonly by: number }, ReadError, Decoder>
      >()
      expectTypeOf(resources.notes()).toEqualTypeOf<Effect.Effect<Resource.ReadResourceResult, CallError>>()
      expectTypeOf(resources.counter.watch).toEqualTypeOf<
        Stream.Stream<{ readonly at: Date; readonly by: number }, ReadError, Decoder>
      >()
    }
    expectTypeOf(reads).returns.toEqualTypeOf<void>()
    type Resources = ReturnType<typeof typed>["resources"]
    expectTypeOf<keyof Resources>().toEqualTypeOf<"counter" | "notes">()
  })

  it("has the parameters and the contents of each template", () => {
    const reads = () => {
      const { templates } = typed()
      expectTypeOf(templates.task({ owner: "ada", id: 1, since: new Date(0) })).toEqualTypeOf<
        Effect.Effect<Task, TypedCallError.InvalidArgumentsError | ReadError, Encoder>
      >()
      expectTypeOf(templates.file({ path: "a" })).toEqualTypeOf<
        Effect.Effect<Resource.ReadResourceResult, TypedCallError.InvalidArgumentsError | CallError>
      >()
      expectTypeOf(templates.task.uri({ owner: "ada", id: 1 })).toEqualTypeOf<
        Effect.Effect<string, TypedCallError.InvalidArgumentsError, Encoder>
      >()
      expectTypeOf(templates.task.complete("owner", "a", { id: "1" })).toEqualTypeOf<
        Effect.Effect<Completion.CompleteResult["completion"], CallError>
      >()
    }
    expectTypeOf(reads).returns.toEqualTypeOf<void>()
    type Templates = ReturnType<typeof typed>["templates"]
    expectTypeOf<keyof Templates>().toEqualTypeOf<"task" | "file">()
    expectTypeOf<Parameters<Templates["task"]["complete"]>[0]>().toEqualTypeOf<"owner" | "id" | "since">()
  })

  it("has the arguments of each prompt", () => {
    const gets = () => {
      const { prompts } = typed()
      expectTypeOf(prompts.plan({ day: "monday", many: 3 })).toEqualTypeOf<
        Effect.Effect<Prompt.GetPromptResult, TypedCallError.InvalidArgumentsError | CallError>
      >()
      expectTypeOf(prompts.motto()).toEqualTypeOf<
        Effect.Effect<Prompt.GetPromptResult, TypedCallError.InvalidArgumentsError | CallError>
      >()
    }
    expectTypeOf(gets).returns.toEqualTypeOf<void>()
    type Plan = ReturnType<typeof typed>["prompts"]["plan"]
    expectTypeOf<Parameters<Plan>[0]>().toEqualTypeOf<{ readonly day: "monday" | "sunday"; readonly many?: number }>()
  })

  it("has the tools of a toolkit", () => {
    const group = McpGroup.make("kit", Toolkit.make(Tool.make("get", { success: Task }), Tool.make("tick")))
    const call = () => client.of(group, { prefix: ["work", "own"], separator: "." }).tools.get()
    expectTypeOf(call).returns.toEqualTypeOf<Effect.Effect<Task, ToolError>>()
  })
})
