import { Content, JsonRpc, McpError, Revision, type Tool } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  RequestContext,
  type RequestError,
  ServerSession,
  Transport
} from "@effect-mcp/session"
import { Census } from "@effect-mcp/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { Command } from "./commands.ts"
import * as Recorded from "./recorded.ts"

const info = { name: "laws", version: "1.0.0" }

/** One call of the client: what it was, what its sink saw, and how it ended. */
export interface Call {
  readonly nonce: number
  readonly tool: string
  readonly steps: ReadonlyArray<number>
  readonly exit: Exit.Exit<Tool.CallToolResult, RequestError.RequestError>
}

/** All that can be known of a conversation afterwards. */
export interface History {
  readonly calls: ReadonlyArray<Call>
  readonly records: ReadonlyArray<Recorded.Record>
  readonly fibersLeft: number
  readonly left: ReadonlyArray<{ readonly sent: number; readonly served: number }>
  readonly states: ReadonlyArray<string>
  readonly revision: string
}

const result = (nonce: unknown): Tool.CallToolResult => ({ content: [Content.text(String(nonce))] })

const tools = (name: string, nonce: unknown): Effect.Effect<
  Tool.CallToolResult,
  McpError.McpError,
  RequestContext.RequestContext
> => {
  switch (name) {
    case "echo":
      return Effect.succeed(result(nonce))
    case "later":
      return Effect.as(Effect.sleep(20), result(nonce))
    case "never":
      return Effect.never
    case "steps":
      return Effect.gen(function*() {
        for (let step = 1; step <= 4; step++) {
          yield* RequestContext.progress({ progress: step })
          if (step % 2 === 0) yield* Effect.sleep(5)
        }
        return result(nonce)
      })
    case "ask":
      return Effect.gen(function*() {
        const context = yield* RequestContext.RequestContext
        yield* Effect.mapError(context.request("ping", {}), (error) => McpError.invalidRequest(error.message))
        return result(nonce)
      })
    case "stubborn":
      return Effect.as(Effect.uninterruptible(Effect.sleep(30)), result(nonce))
    case "refuse":
      return Effect.fail(McpError.invalidParams("refused"))
    default:
      return Effect.die(new Error("died"))
  }
}

const frames = (
  frame: Extract<Command, { readonly _tag: "Inject" }>["frame"],
  last: Transport.Inbound | undefined
): Transport.Inbound => {
  const message = (value: unknown): Transport.Inbound => ({ frame: Result.succeed(value), origin: {} })
  switch (frame) {
    case "NotJson":
      return { frame: Result.fail({ _tag: "NotJson", text: "{" }), origin: {} }
    case "Malformed":
      return message({ jsonrpc: "2.0", id: 1.5, method: "ping" })
    case "UnknownResponse":
      return message(JsonRpc.success(4711, {}))
    case "TextualId":
      return message(JsonRpc.success("1", {}))
    case "NullId":
      return message({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "what?" } })
    case "Repetition":
      // A response may come twice; a request that came twice would be two requests, so it is not repeated.
      return last !== undefined && Result.isSuccess(last.frame) &&
          !JSON.stringify(last.frame.success).includes("method")
        ? last
        : message(JsonRpc.success(0, {}))
    case "StrayProgress":
      return message(JsonRpc.notification("notifications/progress", { progressToken: "nobody", progress: 1 }))
    case "StrayCancel":
      return message(JsonRpc.notification("notifications/cancelled", { requestId: 4711 }))
    case "Initialize":
      return message(
        JsonRpc.request("again", "initialize", {
          protocolVersion: Revision.supported[0],
          capabilities: {},
          clientInfo: info
        })
      )
    case "Initialized":
      return message(JsonRpc.notification("notifications/initialized"))
  }
}

/** Lets everything happen that can happen now. */
const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

/**
 * Holds a conversation, in virtual time, and tells what came of it.
 */
export const hold = (form: "one stream" | "a stream for each request", commands: ReadonlyArray<Command>) =>
  Effect.gen(function*() {
    const census = Census.make()
    const records: Array<Recorded.Record> = []
    const pair = yield* (form === "one stream"
      ? MemoryTransport.make()
      : MemoryTransport.makeMultiStream({ standalone: true }))
    const ends = {
      client: Recorded.make("client", pair.client, records),
      server: Recorded.make("server", pair.server, records)
    }
    const scopes = { client: yield* Scope.make(), server: yield* Scope.make() }
    const handlers = {
      "tools/call": ({ arguments: input, name }: Tool.CallToolParams) => tools(name, input?.["nonce"])
    }
    const [client, server] = yield* census.count(Effect.gen(function*() {
      const server = yield* ServerSession.make(handlers, { info, capabilities: { logging: {} } }).pipe(
        Effect.provideService(Transport.Transport, ends.server.transport),
        Scope.provide(scopes.server)
      )
      const client = yield* ClientSession.make({ info }).pipe(
        Effect.provideService(Transport.Transport, ends.client.transport),
        Scope.provide(scopes.client)
      )
      return [client, server] as const
    }))

    const calls: Array<{
      readonly nonce: number
      readonly tool: string
      readonly steps: Array<number>
      readonly fiber: Fiber.Fiber<Tool.CallToolResult, RequestError.RequestError>
    }> = []
    const others: Array<Fiber.Fiber<unknown>> = []
    const start = <A, E>(effect: Effect.Effect<A, E>) =>
      census.count(Effect.forkDetach(effect, { startImmediately: true }))

    for (const command of commands) {
      switch (command._tag) {
        case "Call": {
          const steps: Array<number> = []
          const nonce = calls.length
          const fiber = yield* start(
            client.callTool(command.tool, { nonce }, {
              deadline: command.deadline,
              onProgress: (step) => Effect.sync(() => steps.push(step.progress))
            })
          )
          calls.push({ nonce, tool: command.tool, steps, fiber })
          break
        }
        case "Interrupt":
          calls[command.which]?.fiber.interruptUnsafe()
          break
        case "Advance":
          yield* TestClock.adjust(command.millis)
          break
        case "Inject":
          ends[command.at].inject(frames(command.frame, ends[command.at].last()))
          break
        case "ServerPing":
          others.push(yield* start(Effect.exit(server.ping())))
          break
        case "Log":
          others.push(yield* start(Effect.exit(server.log({ level: "info", data: "hello" }))))
          break
        case "Close":
          others.push(yield* start(Scope.close(scopes[command.who], Exit.void)))
          break
      }
      yield* settle
    }

    const closing = [
      yield* start(Scope.close(scopes.client, Exit.void)),
      yield* start(Scope.close(scopes.server, Exit.void))
    ]
    for (let second = 0; second < 30; second++) {
      yield* TestClock.adjust("1 second")
      yield* settle
    }
    // Under law 1 nothing hangs, so half an hour more must change nothing; a fiber that waits for it would fail the test.
    yield* Effect.forEach([...closing, ...others], Fiber.await)
    const ended: Array<Call> = []
    for (const { fiber, nonce, steps, tool } of calls) {
      ended.push({ nonce, tool, steps, exit: fiber.pollUnsafe() ?? Exit.die("this call hangs") })
    }
    const history: History = {
      calls: ended,
      records,
      fibersLeft: census.living(),
      left: [yield* client.inFlight, yield* server.inFlight],
      states: [(yield* client.state)._tag, (yield* server.state)._tag],
      revision: client.profile.revision
    }
    return history
  }).pipe(Effect.provide(Logger.layer([])))
