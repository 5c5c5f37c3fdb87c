/** Calls of a group whose program decides by `toolName` which tools may be called. */
import { type GroupList, McpClients, McpTarget } from "@effect-mcp/client"
import { Content, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { info, namesOf, serverOf, text } from "./fixtures/groupServers.ts"
import { virtually } from "./support/virtually.ts"

/** Creates a server with one tool, whose description tells whether the program approves it, and how it was called. */
const oneTool = (
  hooks: { readonly afterList?: Effect.Effect<unknown>; readonly closing?: Effect.Effect<unknown> } = {}
) => {
  const state = { description: "approved", lists: 0, changed: Effect.void }
  const calls: Array<string> = []
  const layer = Layer.effect(
    Transport.Transport,
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      const { toolListChanged } = yield* ServerSession.make({
        "tools/list": () =>
          Effect.suspend(() => {
            state.lists++
            const read = { name: "read", description: state.description, inputSchema: { type: "object" } } as const
            return Effect.as(hooks.afterList ?? Effect.void, { tools: [read] })
          }),
        "tools/call": () =>
          Effect.sync(() => {
            calls.push(state.description)
            return { content: [Content.text(state.description)] }
          })
      }, { info, capabilities: { tools: { listChanged: true } } }).pipe(
        Effect.provideService(Transport.Transport, pair.server)
      )
      state.changed = Effect.orDie(toolListChanged)
      const closing = Effect.addFinalizer(() => hooks.closing ?? Effect.void)
      return { ...pair.client, connect: Effect.andThen(closing, pair.client.connect) }
    })
  )
  return { state, calls, target: McpTarget.transport(layer) }
}

const options: McpClients.Options = {
  info,
  revisions: Revision.legacy,
  toolName: ({ definition, name }: GroupList.GroupTool) => definition.description === "approved" ? name : undefined
}

/** Runs all other fibers until each of them waits. */
const settled = Effect.yieldNow.pipe(Effect.repeat({ times: 80 }))

describe("calls of approved tools", () => {
  it.effect("a tool that has changed after it was approved is not called", () =>
    Effect.gen(function*() {
      const files = serverOf("files", ["read", "write"])
      const approved = new Set(["read"])
      const clients = yield* McpClients.make({ files: files.target }, {
        info,
        revisions: Revision.legacy,
        toolName: ({ definition, name }) => approved.has(definition.name) ? name : undefined
      })
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["files__read"])
      const { toolListChanged } = yield* files.session
      const changed = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(clients.changes, ({ list }) => list === "tools")),
        { startImmediately: true }
      )
      assert.strictEqual(text(yield* clients.callTool("files__read")), "files ran read")
      approved.clear()
      yield* toolListChanged
      yield* Fiber.join(changed)
      const error = yield* Effect.flip(clients.callTool("files__read"))
      assert.strictEqual(error._tag, "NoSuchNameError")
      approved.add("read")
      assert.strictEqual(text(yield* clients.callTool("files__read")), "files ran read")
    }))

  it.effect("no call runs a tool that has changed, also while or after another one could not read the list", () =>
    Effect.gen(function*() {
      const gates: Array<Deferred.Deferred<void>> = []
      let isSlow = false
      const files = serverOf("files", ["read"], {
        beforeList: Effect.suspend(() => {
          if (!isSlow) return Effect.void
          const gate = Deferred.makeUnsafe<void>()
          gates.push(gate)
          return Deferred.await(gate)
        })
      })
      let isApproved = true
      const clients = yield* McpClients.make({ files: files.target }, {
        info,
        revisions: Revision.legacy,
        toolName: ({ name }) => isApproved ? name : undefined
      })
      assert.strictEqual(text(yield* clients.callTool("files__read")), "files ran read")
      const changed = yield* Effect.forkChild(
        Stream.runHead(Stream.filter(clients.changes, ({ list }) => list === "tools")),
        { startImmediately: true }
      )
      isApproved = false
      isSlow = true
      yield* (yield* files.session).toolListChanged
      yield* Fiber.join(changed)
      const call = (timeout: number) =>
        Effect.forkChild(Effect.flip(clients.callTool("files__read", {}, { timeout })), { startImmediately: true })
      const first = yield* call(1_000)
      const meanwhile = yield* call(3_000)
      yield* TestClock.adjust(1_000)
      assert.match((yield* Fiber.join(first)).message, /timed out after 1000 ms/)
      const afterwards = yield* call(3_000)
      yield* Effect.yieldNow.pipe(Effect.repeat({ times: 50 }))
      for (const gate of gates) yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual([(yield* Fiber.join(meanwhile))._tag, (yield* Fiber.join(afterwards))._tag], [
        "NoSuchNameError",
        "NoSuchNameError"
      ])
    }))

  it.effect("a list of the group that waits for another server revives no approval", () =>
    Effect.gen(function*() {
      const files = oneTool()
      const slow = oneTool({ afterList: Effect.sleep("1 second") })
      const clients = yield* McpClients.make({ files: files.target, slow: slow.target }, options)
      yield* clients.settled("1 minute")
      const listing = yield* Effect.forkChild(clients.tools, { startImmediately: true })
      yield* settled
      files.state.description = "changed"
      yield* Effect.andThen(files.state.changed, settled)
      assert.strictEqual((yield* Effect.flip(clients.callTool("files__read")))._tag, "NoSuchNameError")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(listing)
      assert.strictEqual((yield* Effect.flip(clients.callTool("files__read")))._tag, "NoSuchNameError")
      assert.deepStrictEqual(files.calls, [])
    }))

  it.effect("a list that changes while a call reads it is read again; if that never ends, the call fails", () =>
    Effect.gen(function*() {
      let gate = Deferred.makeUnsafe<void>()
      Deferred.doneUnsafe(gate, Exit.void)
      const files = oneTool({ afterList: Effect.suspend(() => Deferred.await(gate)) })
      const clients = yield* McpClients.make({ files: files.target }, options)
      assert.strictEqual(text(yield* clients.callTool("files__read")), "approved")
      gate = Deferred.makeUnsafe()
      yield* Effect.andThen(files.state.changed, settled)
      const call = yield* Effect.forkChild(Effect.flip(clients.callTool("files__read")), { startImmediately: true })
      yield* settled
      assert.strictEqual(files.state.lists, 2)
      files.state.description = "changed"
      yield* Effect.andThen(files.state.changed, settled)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(call))._tag, "NoSuchNameError")

      // From now on, the server reports a change before it returns each list.
      files.state.description = "approved"
      const flooding = oneTool({ afterList: Effect.suspend(() => Effect.andThen(flooding.state.changed, settled)) })
      const flooded = yield* McpClients.make({ flooding: flooding.target }, options)
      const error = yield* Effect.flip(flooded.callTool("flooding__read"))
      assert.deepStrictEqual(error._tag === "NoSuchNameError" ? error.missing : error, ["flooding"])
      assert.deepStrictEqual([flooding.calls, files.calls], [[], ["approved"]])
      assert.isAtMost(flooding.state.lists, 8)
    }))

  for (const when of ["while the session closes", "before the session ends"]) {
    it(`a call that is made ${when} is not sent to a server that is started again with another tool`, () =>
      virtually(Effect.gen(function*() {
        const files = oneTool({ closing: Effect.sleep("3 seconds") })
        const clients = yield* McpClients.make({ files: files.target }, {
          ...options,
          reconnect: Schedule.spaced("1 second")
        })
        assert.strictEqual(text(yield* clients.callTool("files__read")), "approved")
        const { close } = yield* clients.client("files").session
        files.state.description = "changed"
        const isClosing = when === "while the session closes"
        if (isClosing) yield* Effect.forkScoped(close, { startImmediately: true })
        yield* Effect.sleep("1 second")
        assert.strictEqual((yield* clients.status).files.status._tag, isClosing ? "Closing" : "Ready")
        const call = yield* Effect.forkScoped(Effect.flip(clients.callTool("files__read")))
        if (!isClosing) yield* Effect.forkScoped(close, { startImmediately: true })
        assert.strictEqual((yield* Fiber.join(call))._tag, "NoSuchNameError")
        assert.deepStrictEqual(files.calls, ["approved"])
      })))
  }

  it.effect("a server that is removed while a call reads its list leaves no approval to a later one of its name", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const first = oneTool({ afterList: Deferred.await(gate) })
      const clients = yield* McpClients.make({}, {
        ...options,
        toolName: (tool) => options.toolName?.(tool) === undefined ? undefined : tool.definition.name
      })
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(clients.add("files", first.target), scope)
      // The scope closes as soon as the list has arrived, and before the call has it.
      const removed = yield* Effect.forkChild(Effect.andThen(client.tools, Scope.close(scope, Exit.void)), {
        startImmediately: true
      })
      yield* settled
      // This name tells whose list has to be read.
      const call = yield* Effect.forkChild(Effect.exit(clients.callTool("files__read")), { startImmediately: true })
      yield* settled
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.all([Fiber.join(removed), Fiber.join(call)])
      const second = oneTool()
      second.state.description = "changed"
      yield* clients.add("files", second.target)
      assert.strictEqual((yield* Effect.flip(clients.callTool("read")))._tag, "NoSuchNameError")
      assert.deepStrictEqual([...first.calls, ...second.calls], [])
      yield* clients.add("other", oneTool().target)
      assert.deepStrictEqual(namesOf(yield* clients.tools), ["read"])
    }))
})
