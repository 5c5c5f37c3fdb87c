/**
 * A durable call of several clients, over a fleet whose process is killed while the dialog of the call is open: the
 * official clients, and that of the library. Their programs do nothing about it: the call returns the booking.
 */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { setTimeout as sleep } from "node:timers/promises"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as Fleet from "../../examples/test/fixtures/fleet.ts"
import * as Services from "../src/nemesis/services.ts"

/** A client of the fleet. */
interface Client {
  readonly call: (name: string, input: { readonly city?: string }) => Effect.Effect<unknown, unknown>
}

/** The dialog that asks a person. */
class Dialog {
  readonly questions: Array<string> = []
  /** Answers the question that is open. */
  open: ((seat: string) => void) | undefined

  readonly answer: Answer = (message) => {
    this.questions.push(message)
    return new Promise((resolve) => {
      this.open = resolve
    })
  }
}

/** Answers a question. */
type Answer = (message: string) => Promise<string>

type Connect = (url: string, answer: Answer) => Effect.Effect<Client, unknown, Scope.Scope>

const headers = { authorization: "Bearer ada" }

const info = { name: "traveller", version: "1.0.0" }

const accepted = (seat: string) => ({ action: "accept" as const, content: { seat } })

const ofLibrary: Connect = Effect.fnUntraced(function*(url, answer) {
  const session = ClientSession.layer({
    info,
    revisions: Revision.legacy,
    handlers: { "elicitation/create": ({ message }) => Effect.map(Effect.promise(() => answer(message)), accepted) }
  })
  const transport = StreamableHttpClient.layerNode({
    url,
    headers: { authorization: Redacted.make(headers.authorization) }
  })
  const context = yield* Layer.build(Layer.provide(session, transport))
  const { callTool } = Context.get(context, ClientSession.ClientSession)
  return { call: (name, input) => callTool(name, input) }
})

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Returns whether a request carries the answer to a question. */
const isAnswer = (init: RequestInit | undefined): boolean => {
  const message: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined
  return typeof message === "object" && message !== null && "result" in message
}

/**
 * Returns a `fetch` that sends an answer again until a process has taken it. The official clients send an answer once:
 * one that reaches a process in the moment of its death is lost, and its call waits until it times out.
 */
const resending = (send: Fetch): Fetch => async (url, init) => {
  for (let attempt = 1;; attempt++) {
    try {
      const response = await send(url, init)
      if (!isAnswer(init) || response.status < 500 || attempt === attempts) return response
      await response.body?.cancel()
    } catch (error) {
      if (!isAnswer(init) || attempt === attempts) throw error
    }
    await sleep(250)
  }
}

const attempts = 20

/** Connects an official client. Apart from `fetch`, it has its default options. */
const official: Readonly<Record<string, (fetch: Fetch) => Connect>> = {
  "the official client, version 1": (fetch) => (url, answer) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.tryPromise(async () => {
          const client = new ClientV1(info, { capabilities: { elicitation: {} } })
          client.setRequestHandler(ElicitRequestSchema, async ({ params }) => accepted(await answer(params.message)))
          await client.connect(new TransportV1(new URL(url), { requestInit: { headers }, fetch }))
          return client
        }),
        (client) => Effect.promise(() => client.close())
      ),
      (client) => ({
        call: (name, input) => Effect.tryPromise(() => client.callTool({ name, arguments: { ...input } }))
      })
    ),
  "the official client, version 2": (fetch) => (url, answer) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.tryPromise(async () => {
          const client = new ClientV2(info, { capabilities: { elicitation: {} } })
          client.setRequestHandler("elicitation/create", async ({ params }) => accepted(await answer(params.message)))
          await client.connect(new TransportV2(new URL(url), { requestInit: { headers }, fetch }))
          return client
        }),
        (client) => Effect.promise(() => client.close())
      ),
      (client) => ({
        call: (name, input) => Effect.tryPromise(() => client.callTool({ name, arguments: { ...input } }))
      })
    )
}

const clients: ReadonlyArray<readonly [name: string, connect: Connect]> = [
  ["the client of the library", ofLibrary],
  ...Object.entries(official).map(([name, connect]) => [name, connect(resending(fetch))] as const)
]

/** Starts a fleet over a database of its own, and returns its URL. */
const start = Effect.fnUntraced(function*(store: "sqlite" | "postgres", ...options: ReadonlyArray<string>) {
  const service = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const service = await Services.make(store)
      await service.start()
      return service
    }),
    (service) => Effect.promise(() => service.remove())
  )
  const { url } = yield* Fleet.start("--store", store, "--database", service.url(undefined), ...options)
  return url
})

/** Returns the text of a tool's result. */
const textOf = (result: unknown): string => String(Object(result)["content"]?.[0]?.text)

/** Books a journey, and lets its process die while the dialog is open. */
const book = Effect.fnUntraced(function*(client: Client, dialog: Dialog, city: string, answerMillis: number) {
  const owner = textOf(yield* client.call("who", {}))
  const booking = yield* Effect.forkScoped(client.call("book", { city }), { startImmediately: true })
  yield* Child.until(() => dialog.open !== undefined)
  process.kill(Number(owner), "SIGKILL")
  yield* Effect.sleep(answerMillis)
  dialog.open?.(`12A to ${city}`)
  dialog.open = undefined
  const answeredAt = performance.now()
  const result = yield* Fiber.join(booking)
  const millis = Math.round(performance.now() - answeredAt)
  const booked = Object(result)["structuredContent"]
  assert.deepInclude(booked, { city, seat: `12A to ${city}` })
  assert.notStrictEqual(booked.process, owner)
  assert.strictEqual(textOf(yield* client.call("charges", { city })), "1")
  assert.deepStrictEqual(dialog.questions.splice(0), [`Which seat to ${city}?`])
  return millis
})

/** Books a journey, and lets its process die while the answer is on its way, is stored, or has its reply. */
const bookAndKill = Effect.fnUntraced(function*(client: Client, dialog: Dialog, city: string, killMillis: number) {
  // The process before it may have just died, and this one has no session of this client yet.
  const owner = textOf(
    yield* Effect.retry(client.call("who", {}), { times: 10, schedule: Schedule.spaced("500 millis") })
  )
  const booking = yield* Effect.forkScoped(client.call("book", { city }), { startImmediately: true })
  yield* Child.until(() => dialog.open !== undefined)
  dialog.open?.(`12A to ${city}`)
  dialog.open = undefined
  yield* Effect.sleep(killMillis)
  process.kill(Number(owner), "SIGKILL")
  const killedAt = performance.now()
  const result = yield* Fiber.join(booking)
  const millis = Math.round(performance.now() - killedAt)
  assert.deepInclude(Object(result)["structuredContent"], { city, seat: `12A to ${city}` })
  assert.deepStrictEqual(dialog.questions.splice(0), [`Which seat to ${city}?`])
  const charges = client.call("charges", { city })
  assert.strictEqual(textOf(yield* Effect.retry(charges, { times: 10, schedule: Schedule.spaced("500 millis") })), "1")
  return millis
})

for (const store of ["sqlite", "postgres"] as const) {
  describe(`a booking over ${store}`, { timeout: 120_000 }, () => {
    for (const [name, connect] of clients) {
      it.live(`of ${name} survives kill -9 of its process while its dialog is open`, () =>
        Effect.gen(function*() {
          const url = yield* start(store)
          const dialog = new Dialog()
          const client = yield* connect(url, dialog.answer)
          const times = [yield* book(client, dialog, "Oslo", 0), yield* book(client, dialog, "Rome", 3000)]
          console.log(`${store}, ${name}: from the answer to the booking ${times.join(" ms and ")} ms`)
        }).pipe(Effect.scoped))

      it.live(`of ${name} survives kill -9 of its process around its answer`, () =>
        Effect.gen(function*() {
          const url = yield* start(store, "--restart")
          const dialog = new Dialog()
          const client = yield* connect(url, dialog.answer)
          const times: Array<number> = []
          for (const [city, killMillis] of Object.entries({ Oslo: 0, Rome: 4, Bern: 8 })) {
            times.push(yield* bookAndKill(client, dialog, city, killMillis))
          }
          console.log(`${store}, ${name}: from the kill to the booking ${times.join(" ms, ")} ms`)
        }).pipe(Effect.scoped))
    }
  })
}

describe("the answer to a question", { timeout: 120_000 }, () => {
  for (const [name, connect] of Object.entries(official)) {
    it.live(`is sent once by ${name}: without a fetch that sends it again, an answer that is lost ends nothing`, () =>
      Effect.gen(function*() {
        const url = yield* start("sqlite")
        let isLost = false
        // As a load balancer, whose connection to a process that dies broke.
        const losing: Fetch = async (url, init) => {
          if (!isLost || !isAnswer(init)) return fetch(url, init)
          isLost = false
          return new Response(null, { status: 502 })
        }
        for (const isSentAgain of [false, true]) {
          const dialog = new Dialog()
          const client = yield* connect(isSentAgain ? resending(losing) : losing)(url, dialog.answer)
          const booking = yield* Effect.forkScoped(client.call("book", { city: "Oslo" }), { startImmediately: true })
          yield* Child.until(() => dialog.open !== undefined)
          isLost = true
          dialog.open?.("12A")
          if (isSentAgain) assert.deepInclude(Object(yield* Fiber.join(booking))["structuredContent"], { seat: "12A" })
          else assert.isTrue(Option.isNone(yield* Effect.timeoutOption(Fiber.join(booking), "3 seconds")))
        }
      }).pipe(Effect.scoped))
  }
})
