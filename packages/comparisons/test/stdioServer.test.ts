/** Program a: a server over stdio with tools, resources and a prompt. */
import { type Content, Revision, Tool } from "@effect-mcp/protocol"
import { ClientSession, type RequestError } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Child from "./fixtures/child.ts"
import { compare, fileOf, implementationsOf } from "./fixtures/comparison.ts"

const info = { name: "comparison", version: "1.0.0" }

const start = (file: string) =>
  ClientSession.layer({ info, revisions: Revision.legacy }).pipe(
    Layer.provide(StdioClient.layerNode({ command: process.execPath, args: [file], env: Child.environment }))
  )

const check = <E>(body: (session: ClientSession.ClientSessionShape) => Effect.Effect<void, E>) =>
  Effect.flatMap(ClientSession.ClientSession, body)

const textsOf = ({ content }: Tool.CallToolResult) =>
  content.map((block: Content.ContentBlock) => block.type === "text" ? block.text : block.type)

/** Returns the code of the error response. */
const codeOf = <A>(request: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.flip(request), ({ reason }) => {
    assert(reason._tag === "ErrorResponse", reason._tag)
    return reason.error.code
  })

const titleSchema = { type: "string", minLength: 1 }

const listsTools = check(Effect.fnUntraced(function*({ listTools }) {
  const { tools } = yield* listTools()
  assert.deepStrictEqual(tools.map(({ description, name }) => [name, description]), [
    ["add_task", "Adds a task"],
    ["complete_task", "Marks a task as done"],
    ["list_tasks", "Lists the tasks"]
  ])
  const [add, complete, list] = tools
  assert.deepStrictEqual(add?.inputSchema["properties"], { title: titleSchema })
  assert.deepStrictEqual(add?.inputSchema["required"], ["title"])
  assert.deepStrictEqual(add?.outputSchema, complete?.outputSchema)
  assert.deepStrictEqual(add?.outputSchema?.["required"], ["id", "title", "done"])
  assert.deepStrictEqual(list?.inputSchema["properties"], { done: { type: "boolean" } })
  assert.deepStrictEqual(list?.outputSchema?.["required"], ["tasks"])
}))

const structuredResult = check(Effect.fnUntraced(function*({ callTool }) {
  const result = yield* callTool("add_task", { title: "tea" })
  assert.deepInclude(result.structuredContent, { title: "tea", done: false })
  assert.deepStrictEqual(textsOf(result), [JSON.stringify(result.structuredContent)])
  const id = Tool.structuredMembers(result)["id"]
  const completed = yield* callTool("complete_task", { id })
  assert.deepStrictEqual(completed.structuredContent, { id, title: "tea", done: true })
}))

const optionalArgument = check(Effect.fnUntraced(function*({ callTool }) {
  const open = { id: 1, title: "write report", done: false }
  const all = yield* callTool("list_tasks", {})
  assert.deepInclude(Tool.structuredMembers(all)["tasks"], open)
  const done = yield* callTool("list_tasks", { done: true })
  assert.notDeepInclude(Tool.structuredMembers(done)["tasks"], open)
}))

const domainError = check(Effect.fnUntraced(function*({ callTool }) {
  const result = yield* callTool("complete_task", { id: 99 })
  assert.isTrue(result.isError)
  assert.deepStrictEqual(textsOf(result), ["There is no task 99"])
  assert.isUndefined(result.structuredContent)
}))

const wrongArguments = check(Effect.fnUntraced(function*({ callTool }) {
  const result = yield* callTool("add_task", { title: "" })
  assert.isTrue(result.isError)
  assert.match(textsOf(result).join(), /title/)
}))

const rejectsArguments = check(Effect.fnUntraced(function*({ callTool }) {
  assert.strictEqual(yield* codeOf(callTool("add_task", { title: "" })), -32602)
}))

const unknownTool = (code: number) =>
  check(Effect.fnUntraced(function*({ callTool }) {
    assert.strictEqual(yield* codeOf(callTool("nope")), code)
  }))

const listsResources = check(Effect.fnUntraced(function*({ listResources, listResourceTemplates }) {
  const { resources } = yield* listResources()
  assert.deepStrictEqual(resources.map(({ mimeType, name, uri }) => ({ mimeType, name, uri })), [
    { mimeType: "application/json", name: "all", uri: "tasks://all" }
  ])
  const { resourceTemplates } = yield* listResourceTemplates()
  assert.deepStrictEqual(
    resourceTemplates.map(({ mimeType, name, uriTemplate }) => ({ mimeType, name, uriTemplate })),
    [
      { mimeType: "application/json", name: "task", uriTemplate: "tasks://{id}" }
    ]
  )
}))

const readsResources = (mimeType: string | undefined) =>
  check(Effect.fnUntraced(function*({ readResource }) {
    const task = { id: 1, title: "write report", done: false }
    const contentOf = Effect.fnUntraced(function*(uri: string) {
      const { contents: [content, ...more] } = yield* readResource(uri)
      assert.deepStrictEqual(more, [])
      assert(content !== undefined && "text" in content)
      assert.strictEqual(content.uri, uri)
      assert.strictEqual(content.mimeType, mimeType)
      return JSON.parse(content.text)
    })
    assert.deepStrictEqual((yield* contentOf("tasks://all"))[0], task)
    assert.deepStrictEqual(yield* contentOf("tasks://1"), task)
  }))

const unknownResources = (unknownId: number, noNumber: number) =>
  check(Effect.fnUntraced(function*({ readResource }) {
    assert.strictEqual(yield* codeOf(readResource("tasks://99")), unknownId)
    assert.strictEqual(yield* codeOf(readResource("tasks://none")), noNumber)
  }))

const completesId = check(Effect.fnUntraced(function*({ callTool, complete }) {
  const valuesOf = (value: string) =>
    Effect.map(
      complete({ ref: { type: "ref/resource", uri: "tasks://{id}" }, argument: { name: "id", value } }),
      ({ completion }) => completion.values
    )
  const added = yield* callTool("add_task", { title: "coffee" })
  const id = String(Tool.structuredMembers(added)["id"])
  const values = yield* valuesOf("")
  assert.strictEqual(values[0], "1")
  assert.strictEqual(values.at(-1), id)
  assert.deepStrictEqual(yield* valuesOf(id), [id])
}))

const completesStyle = check(Effect.fnUntraced(function*({ complete }) {
  const valuesOf = (value: string) =>
    Effect.map(
      complete({ ref: { type: "ref/prompt", name: "summarize" }, argument: { name: "style", value } }),
      ({ completion }) => completion.values
    )
  assert.deepStrictEqual(yield* valuesOf(""), ["bullet list", "haiku", "table"])
  assert.deepStrictEqual(yield* valuesOf("h"), ["haiku"])
}))

const promptText = (session: ClientSession.ClientSessionShape, style: string) =>
  Effect.map(session.getPrompt("summarize", { style }), ({ messages: [message, ...more] }) => {
    assert.deepStrictEqual(more, [])
    assert(message?.content.type === "text")
    assert.strictEqual(message.role, "user")
    return message.content.text
  })

const getsPrompt = check(Effect.fnUntraced(function*(session) {
  const { prompts } = yield* session.listPrompts()
  assert.deepStrictEqual(prompts.map(({ arguments: named, description, name }) => [name, description, named?.length]), [
    ["summarize", "Summarizes the tasks", 1]
  ])
  assert.deepInclude(prompts[0]?.arguments?.[0], { name: "style", required: true })
  const task = JSON.stringify({ id: 1, title: "write report", done: false })
  assert.include(yield* promptText(session, "haiku"), `Summarize as haiku: [${task}`)
}))

const rejectsStyle = check(Effect.fnUntraced(function*({ getPrompt }) {
  assert.strictEqual(yield* codeOf(getPrompt("summarize", { style: "novel" })), -32602)
}))

const acceptsStyle = check(Effect.fnUntraced(function*(session) {
  assert.include(yield* promptText(session, "novel"), "Summarize as novel: ")
}))

const declares = (...capabilities: ReadonlyArray<string>) =>
  check(({ profile }) => Effect.sync(() => assert.sameMembers(Object.keys(profile.capabilities), [...capabilities])))

compare({
  program: "a",
  start,
  behaviours: {
    "declares tools, resources, prompts and completions": declares("tools", "resources", "prompts", "completions"),
    "lists three tools with the schemas of their arguments and results": listsTools,
    "a tool returns a structured result and its text": structuredResult,
    "a tool has an optional argument": optionalArgument,
    "a task that does not exist is an error that the model reads": domainError,
    "arguments that do not fit are an error that the model reads": wrongArguments,
    "an unknown tool fails with -32602": unknownTool(-32602),
    "lists the resource and the template": listsResources,
    "reads JSON with its MIME type": readsResources("application/json"),
    "a resource that does not exist fails with -32002": unknownResources(-32002, -32002),
    "completes the ids of the template": completesId,
    "completes the styles of the prompt": completesStyle,
    "gets the prompt": getsPrompt,
    "an unknown style fails with -32602": rejectsStyle
  },
  deviations: {
    official: {
      "a resource that does not exist fails with -32002": {
        instead: "a resource that does not exist fails with -32602, the code of revision 2026-07-28",
        check: unknownResources(-32602, -32602)
      }
    },
    fastmcp: {
      "declares tools, resources, prompts and completions": {
        instead: "declares logging as well, although it logs nothing",
        check: declares("tools", "resources", "prompts", "completions", "logging")
      },
      "arguments that do not fit are an error that the model reads": {
        instead: "arguments that do not fit fail with -32602, which the model does not read",
        check: rejectsArguments
      },
      "an unknown tool fails with -32602": {
        instead: "an unknown tool fails with -32601, as if the method were unknown",
        check: unknownTool(-32601)
      },
      "a resource that does not exist fails with -32002": {
        instead: "a resource that does not exist fails with -32603, an internal error",
        check: unknownResources(-32603, -32603)
      },
      "an unknown style fails with -32602": {
        instead: "accepts a style that is not in its enum",
        check: acceptsStyle
      }
    },
    "effect-ai": {
      "declares tools, resources, prompts and completions": {
        instead: "declares logging as well, although it logs nothing",
        check: declares("tools", "resources", "prompts", "completions", "logging")
      },
      "reads JSON with its MIME type": {
        instead: "reads JSON without the MIME type of its definition",
        check: readsResources(undefined)
      },
      "a resource that does not exist fails with -32002": {
        instead: "a resource that does not exist fails with -32603, and an id that is no number with -32602",
        check: unknownResources(-32603, -32602)
      }
    }
  }
})

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
})

/** The exit codes after the end of the input that are not 0. */
const exitCodes: Partial<Record<string, number>> = { "effect-ai": 130 }

for (const implementation of implementationsOf("a")) {
  const code = exitCodes[implementation.folder] ?? 0
  describe(`program a, written with ${implementation.name}`, () => {
    it.live(`exits with ${code} when its input ends`, () =>
      Effect.gen(function*() {
        const child = yield* Child.start([fileOf(implementation, "a")])
        child.write(initialize)
        yield* Child.until(() => child.output().includes("serverInfo"))
        child.end()
        assert.strictEqual(yield* child.exit, code)
      }).pipe(Effect.scoped))
  })
}
