/** Calls by the names of a group: which tool a name means, what the program approved, and how long a call waits. */
import { McpClients, McpTarget } from "@effect-mcp/client"
import { Content, Revision, type Tool } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { broken, hanging, info, namesOf, serverOf, text, tool } from "./fixtures/groupServers.ts"

describe("calls by the names of a group", () => {
  it.effect("tools, prompts and resources are used by their names and servers", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({
        files: serverOf("files", ["read"]).target,
        mail: serverOf("mail", ["read"]).target
      }, { info })
      // Before any list was read.
      assert.strictEqual(text(yield* clients.callTool("mail__read")), "mail ran read")
      const [, prompt] = yield* clients.prompts
      const { messages } = yield* clients.getPrompt(prompt?.name ?? "")
      assert.deepStrictEqual(messages[0]?.content, Content.text("mail: about mail"))
      assert.deepStrictEqual((yield* clients.readResource("mail", "app://state")).contents, [
        { uri: "app://state", text: "mail" }
      ])
      const watched = yield* Stream.runCollect(Stream.take(clients.watch("files", "app://state"), 1))
      assert.deepStrictEqual(watched.map(({ contents }) => contents), [[{ uri: "app://state", text: "files" }]])
      const error = yield* Effect.flip(clients.readResource("males", "app://state"))
      assert.strictEqual(error.message, "the group has no server \"males\"; its servers are: files, mail")
    }))

  it.effect("a name that no tool has fails, and asks no server twice", () =>
    Effect.gen(function*() {
      const files = serverOf("files", ["read"])
      const clients = yield* McpClients.make({ files: files.target }, { info })
      for (const name of ["files__raed", "flies__read", "read", "__read", ""]) {
        const error = yield* Effect.flip(clients.callTool(name))
        assert.strictEqual(error._tag, "NoSuchNameError")
        assert.strictEqual(error.message, `the group has no tool ${JSON.stringify(name)}; use a name that it lists`)
      }
      assert.strictEqual(files.state.lists, 1)
    }))

  it.effect("tools with names that would be equal are kept apart, and each call reaches its server", () =>
    Effect.gen(function*() {
      const targets = {
        "a": serverOf("a", ["_b", "b", "x".repeat(200), "x".repeat(201), "b c", "b/c"]).target,
        "a_": serverOf("a_", ["b"]).target,
        "a__b": serverOf("a__b", ["c"]).target,
        "a ": serverOf("a ", ["b", "b"]).target
      }
      const namesIn = (order: ReadonlyArray<keyof typeof targets>) =>
        Effect.scoped(Effect.gen(function*() {
          const ordered = Object.fromEntries(order.map((name) => [name, targets[name]]))
          const clients = yield* McpClients.make(ordered, { info })
          const tools = yield* clients.tools
          for (const { definition, name, server } of tools) {
            assert.match(name, /^[A-Za-z0-9_.-]{1,128}$/)
            assert.strictEqual(text(yield* clients.callTool(name)), `${server} ran ${definition.name}`)
          }
          return tools.map(({ definition, name, server }) => [server, definition.name, name].join(" ")).toSorted()
        }))
      const names = yield* namesIn(["a", "a_", "a__b", "a "])
      assert.lengthOf(new Set(names), 9)
      assert.deepStrictEqual(yield* namesIn(["a ", "a__b", "a_", "a"]), names)
    }))

  it.effect("a tool with a hash in its name is found before any list was read", () =>
    Effect.gen(function*() {
      const servers = () => ({ "my files": serverOf("my files", ["read"]).target })
      const [tool] = yield* Effect.scoped(Effect.flatMap(McpClients.make(servers(), { info }), ({ tools }) => tools))
      assert.match(tool?.name ?? "", /^my_files_read_[0-9a-f]{16}$/)
      const clients = yield* McpClients.make(servers(), { info })
      assert.strictEqual(text(yield* clients.callTool(tool?.name ?? "")), "my files ran read")
    }))

  it.effect("a function leaves tools out and renames them, and equal names are kept apart", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({
        files: serverOf("files", ["read", "delete", "find"]).target,
        mail: serverOf("mail", ["find"]).target
      }, {
        info,
        names: "model",
        toolName: ({ definition, name }) =>
          definition.name === "delete" ? undefined : definition.name === "find" ? "find" : `${name}!`
      })
      const names = namesOf(yield* clients.tools)
      assert.match(names.join(" "), /^files_read_[0-9a-f]{16} find mail_find_[0-9a-f]{16}$/)
      assert.strictEqual(text(yield* clients.callTool("find")), "files ran find")
      assert.strictEqual(text(yield* clients.callTool(names[2] ?? "")), "mail ran find")
      assert.strictEqual((yield* Effect.flip(clients.callTool("files__delete")))._tag, "NoSuchNameError")
      // The name stays with its tool.
      assert.deepStrictEqual(namesOf(yield* clients.tools), names)
    }))

  it.effect("of a tool that is listed twice, only the first definition counts, also if it is left out", () =>
    Effect.gen(function*() {
      const listed = (description: string): Tool.Tool => ({ ...tool("read"), description })
      const server = McpTarget.transport(ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [listed("hostile"), listed("approved")] })
      }, { info }))
      const both = yield* McpClients.make({ files: server }, { info })
      assert.deepStrictEqual((yield* both.tools).map(({ description }) => description), ["hostile"])
      const approved = yield* McpClients.make({ files: server }, {
        info,
        toolName: ({ definition, name }) => definition.description === "approved" ? name : undefined
      })
      assert.deepStrictEqual(yield* approved.tools, [])
    }))

  it.effect("a name does not pass to another server while its own is down, nor to a tool that was not listed", () =>
    Effect.gen(function*() {
      let isDown = false
      const files = serverOf("files", ["read"])
      const target = McpTarget.transport(
        Layer.unwrap(Effect.suspend(() => isDown ? Effect.fail("gone") : Effect.succeed(files.target.transport))),
        "files"
      )
      const evil = serverOf("evil", [])
      const clients = yield* McpClients.make({ files: target, evil: evil.target }, {
        info,
        revisions: Revision.legacy,
        reconnect: Schedule.spaced("1 second"),
        toolName: ({ definition }) => definition.name
      })
      const [read] = yield* clients.tools
      assert(read !== undefined)
      assert.strictEqual(text(yield* clients.callTool(read)), "files ran read")
      const first = yield* clients.client("files").session
      isDown = true
      yield* first.close
      evil.state.tools = ["read"]
      yield* (yield* evil.session).toolListChanged
      yield* Stream.runHead(Stream.filter(clients.client("files").statuses, ({ _tag }) => _tag === "Down"))
      yield* Effect.yieldNow.pipe(Effect.repeat({ times: 50 }))
      const [taken] = yield* clients.tools
      assert.match(taken?.name ?? "", /^evil_read_[0-9a-f]{16}$/)
      isDown = false
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(text(yield* clients.callTool("read")), "files ran read")
      // After the owner no longer lists the tool, its name is free, but not for a call of the listed tool.
      files.state.tools = []
      yield* Effect.flatMap(clients.client("files").session, ({ close }) => close)
      yield* TestClock.adjust("2 seconds")
      evil.state.tools = []
      yield* (yield* evil.session).toolListChanged
      yield* Effect.yieldNow.pipe(Effect.repeat({ times: 50 }))
      assert.deepStrictEqual(yield* clients.tools, [])
      evil.state.tools = ["read"]
      yield* (yield* evil.session).toolListChanged
      yield* Effect.yieldNow.pipe(Effect.repeat({ times: 50 }))
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["read"])
      assert.strictEqual(text(yield* clients.callTool("read")), "evil ran read")
      assert.strictEqual((yield* Effect.flip(clients.callTool(read)))._tag, "NoSuchNameError")
    }))

  it.effect("a call whose name has to be learned from a list that does not end fails in its own time", () =>
    Effect.gen(function*() {
      const endless = McpTarget.transport(ServerSession.layerMemory({
        "tools/list": ({ cursor = "0" }) =>
          Effect.delay(Effect.succeed({ tools: [], nextCursor: String(Number(cursor) + 1) }), "1 second")
      }, { info }))
      const clients = yield* McpClients.make({ endless }, { info, listTimeout: "1 hour", healthCheck: false })
      const limits = { timeout: "3 seconds", waitTimeout: "2 seconds" } as const
      const calling = yield* Effect.forkChild(Effect.flip(clients.callTool("endless__read", {}, limits)))
      yield* TestClock.adjust("2900 millis")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("100 millis")
      assert.match((yield* Fiber.join(calling)).message, /tools\/call: timed out after 3000 ms/)
    }))

  it.effect("a call waits for a server whose list was not read as long as its own waitTimeout says", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ hanging }, { info, waitTimeout: "10 seconds" })
      for (const [waitTimeout, millis] of [["300 millis", 300], ["30 seconds", 30_000]] as const) {
        const calling = yield* Effect.forkChild(
          Effect.flip(clients.callTool("hanging__read", {}, { waitTimeout, timeout: "1 second" }))
        )
        yield* TestClock.adjust(millis - 1)
        assert.isUndefined(calling.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.match((yield* Fiber.join(calling)).message, new RegExp(`the call waited ${millis} ms; `))
      }
    }))

  it.effect("a name that is missing is looked for at the servers that may have it, and at no other", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ files: serverOf("files", ["read"]).target, broken, other: broken }, {
        info
      })
      yield* clients.settled("1 minute")
      const missing = (name: string) =>
        Effect.map(
          Effect.flip(clients.callTool(name)),
          (error) => error._tag === "NoSuchNameError" ? error.missing : [error]
        )
      assert.deepStrictEqual(yield* missing("files__write"), [])
      assert.deepStrictEqual(yield* missing("gone__write"), [])
      assert.deepStrictEqual(yield* missing("broken_wri_te_0123456789abcdef"), ["broken"])
    }))
})
