/** Several processes of one server behind a proxy that sends each request of a client to another of them. */
import { Content } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { type ChildProcess, spawn } from "node:child_process"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import type { Settings } from "./fixtures/replica.ts"
import { exchange } from "./support/httpClient.ts"
import { sessionOver, streamableTo } from "./support/modernClient.ts"
import { post } from "./support/modernRequest.ts"
import { fixture, until } from "./support/process.ts"
import { serve } from "./support/roundRobinProxy.ts"
import { temporaryDirectory } from "./support/temporaryDirectory.ts"

const secret = "the secret that the replicas of these tests share"

const program = await joinedProgram(fixture("replica.ts"))

/** A process of the server. */
class Replica {
  stdout = ""
  stderr = ""
  readonly child: ChildProcess

  constructor(settings: Settings) {
    this.child = spawn(process.execPath, [program, JSON.stringify(settings)])
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text
    })
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
    })
  }

  get port(): number {
    return Number(/port (\d+)/.exec(this.stdout)?.[1] ?? 0)
  }

  get listens(): boolean {
    return this.stdout.includes("listening")
  }

  /** Changes the list of tools. */
  change(): void {
    this.child.stdin?.write("changed\n")
  }
}

const start = Effect.fnUntraced(function*(settings: Settings) {
  const replica = yield* Effect.acquireRelease(
    Effect.sync(() => new Replica(settings)),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )
  yield* until(() => replica.port !== 0)
  return replica
})

/** Starts two replicas with equal settings, and the proxy in front of them. */
const startTwo = Effect.fnUntraced(function*(settings: Omit<Settings, "name"> = { secret }) {
  const replicas = yield* Effect.all([start({ name: "A", ...settings }), start({ name: "B", ...settings })], {
    concurrency: 2
  })
  return { replicas, proxy: yield* serve(replicas.map(({ port }) => port)) }
})

type Proxy = Effect.Success<ReturnType<typeof serve>>

/** Connects a client that answers each question with a word of its own. */
const connect = Effect.fnUntraced(function*({ url }: Proxy, user: string, onChange?: () => void) {
  const asked: Array<string> = []
  const transport = yield* streamableTo({ url, headers: { authorization: `Bearer ${user}` } })
  const { session } = yield* sessionOver(transport, {
    handlers: {
      "elicitation/create": ({ message }) =>
        Effect.sync(() => {
          asked.push(message)
          return {
            action: "accept" as const,
            content: { answer: `${user}'s ${asked.length === 1 ? "fish" : "window"}` }
          }
        }),
      ...(onChange === undefined ? undefined : { "notifications/tools/list_changed": () => Effect.sync(onChange) })
    }
  })
  return { asked, session }
})

/** The servers that the requests of one method went to. */
const serversOf = ({ forwarded }: Proxy, name: string) =>
  forwarded.filter(({ method }) => method === name).map(({ server }) => server)

/** The error for each state that a server does not accept. */
const rejection = {
  code: -32602,
  message: "Invalid or expired requestState: send the request again without requestState and inputResponses"
}

/** A request by hand, and its sender. */
interface ByHand {
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly user?: string
}

const send = (proxy: { readonly port: number }, { method = "tools/call", params = {}, user = "ada" }: ByHand) =>
  exchange(
    proxy,
    post(method, { name: "book", ...params }, {
      meta: { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } },
      headers: { authorization: `Bearer ${user}` }
    })
  )

/** Sends a call, and returns the members of the request that answers its question. */
const askedBy = Effect.fnUntraced(function*(proxy: { readonly port: number }, request: ByHand = {}) {
  const { messages: [message] } = yield* send(proxy, request)
  const { inputRequests, requestState } = message?.result ?? {}
  assert.strictEqual(message?.result?.["resultType"], "input_required")
  assert.isTrue(Predicate.isObject(inputRequests) && typeof requestState === "string")
  const [key = ""] = Object.keys(inputRequests ?? {})
  return {
    inputResponses: { [key]: { action: "accept", content: { answer: "fish" } } },
    requestState: String(requestState)
  }
})

// Not concurrent: on a busy machine, all these processes would start at the same time.
describe("two replicas behind a proxy without stickiness", () => {
  it.live("[VER-13] serve a call with questions in turn, with nothing in common but a secret", () =>
    Effect.gen(function*() {
      const { proxy } = yield* startTwo()
      const { asked, session } = yield* connect(proxy, "ada")
      const { content } = yield* session.callTool("book")
      assert.deepStrictEqual(content, [Content.text("ada: ada's fish, ada's window; served by B, A, B")])
      assert.deepStrictEqual(asked, ["Which meal?", "Which seat for ada's fish?"])
      assert.deepStrictEqual(serversOf(proxy, "tools/call"), [1, 0, 1])
    }))

  it.live("without a common secret, end a call with the error for invalid states, after a warning in the log", () =>
    Effect.gen(function*() {
      const { proxy, replicas } = yield* startTwo({})
      const { asked, session } = yield* connect(proxy, "ada")
      const { reason } = yield* Effect.flip(session.callTool("book"))
      assert.strictEqual(reason._tag, "ErrorResponse")
      assert.deepInclude(reason._tag === "ErrorResponse" ? reason.error : {}, rejection)
      assert.deepStrictEqual(asked, ["Which meal?"])
      // The replica that asked, which could not know that its client would not reach it again.
      yield* until(() => replicas[1].stderr.includes("accepted by no other process"))
      assert.include(replicas[1].stderr, "provide RequestStateSeal.layer({ secrets })")
      assert.notInclude(replicas[0].stderr, "accepted by no other process")
    }))

  it.live("[MRTR-10] with a common store, reject a state that the other one has accepted", () =>
    Effect.gen(function*() {
      const { proxy } = yield* startTwo({ secret, usedStates: yield* temporaryDirectory })
      const answered = yield* askedBy(proxy)
      const first = yield* send(proxy, { params: answered })
      assert.strictEqual(first.messages[0]?.result?.["resultType"], "input_required")
      for (let attempt = 0; attempt < 2; attempt++) {
        const { messages: [message] } = yield* send(proxy, { params: answered })
        assert.deepStrictEqual(message?.error, rejection)
      }
      assert.deepStrictEqual(serversOf(proxy, "tools/call"), [0, 1, 0, 1])
      const { session } = yield* connect(proxy, "ada")
      assert.include(JSON.stringify(yield* session.callTool("book")), "served by")
    }))

  it.live("[MRTR-10] without one, accept a state as often as it is sent", () =>
    Effect.gen(function*() {
      const { proxy } = yield* startTwo()
      const answered = yield* askedBy(proxy)
      for (let attempt = 0; attempt < 3; attempt++) {
        const { messages: [message] } = yield* send(proxy, { params: answered })
        assert.strictEqual(message?.result?.["resultType"], "input_required")
      }
    }))

  it.live("[MRTR-07] [MRTR-08] [MRTR-09] reject each state that is not theirs with the same bytes", () =>
    Effect.gen(function*() {
      const { proxy } = yield* startTwo()
      const forgetful = yield* start({ name: "C", secret, expiry: 1 })
      const stranger = yield* start({ name: "D", secret: `${secret}, of other servers` })
      const answered = yield* askedBy(proxy)
      const { requestState } = answered
      const expired = yield* askedBy(forgetful)
      yield* Effect.sleep("20 millis")
      const rejected: ReadonlyArray<readonly [name: string, request: ByHand]> = [
        ["of another principal", { user: "bob", params: answered }],
        ["changed", {
          params: { ...answered, requestState: requestState.replace(/(?<=^.{40})./, (one) => one === "A" ? "B" : "A") }
        }],
        ["cut off", { params: { ...answered, requestState: requestState.slice(0, -8) } }],
        ["no state at all", { params: { ...answered, requestState: "none" } }],
        ["expired", { params: expired }],
        ["of other servers", { params: yield* askedBy(stranger) }],
        ["of another tool", { params: { ...answered, name: "other" } }],
        ["of other arguments", { params: { ...answered, arguments: { to: "Oslo" } } }],
        ["of another method", { method: "prompts/get", params: answered }]
      ]
      const bodies = new Set<string>()
      for (const [name, request] of rejected) {
        const { messages: [message], status, text } = yield* send(proxy, request)
        assert.strictEqual(status, 200, name)
        assert.deepStrictEqual(message?.error, rejection, name)
        bodies.add(text)
      }
      assert.lengthOf([...bodies], 1)
      // The state itself is valid, at each of the two.
      for (let attempt = 0; attempt < 2; attempt++) {
        const { messages: [message] } = yield* send(proxy, { params: answered })
        assert.strictEqual(message?.result?.["resultType"], "input_required")
      }
    }))

  it.live("give no answer and no kept result of one principal to another", () =>
    Effect.gen(function*() {
      const { proxy } = yield* startTwo()
      const users = ["ada", "bob"]
      const clients = yield* Effect.forEach(users, (user) => connect(proxy, user))
      const called = yield* Effect.forEach(clients, ({ session }) => session.callTool("book"), {
        concurrency: "unbounded"
      })
      for (const [index, user] of users.entries()) {
        const [block] = called[index]?.content ?? []
        assert.include(block?.type === "text" ? block.text : "", `${user}: ${user}'s fish, ${user}'s window;`)
      }
      for (let time = 0; time < 2; time++) {
        for (const [index, user] of users.entries()) {
          const listed = yield* clients[index]?.session.listTools() ?? Effect.die("no client")
          assert.deepStrictEqual(listed.tools.map(({ name }) => name), [`book for ${user}`])
        }
      }
      // Each client has kept its own list.
      assert.lengthOf(serversOf(proxy, "tools/list"), 2)
    }))

  it.live("notify a client of changes, and the other one goes on when the one that it listens to stops", () =>
    Effect.gen(function*() {
      const { proxy, replicas } = yield* startTwo()
      let changes = 0
      yield* connect(proxy, "ada", () => changes++)
      yield* until(() => replicas.some(({ listens }) => listens))
      const [serving, other] = replicas[0].listens ? replicas : [replicas[1], replicas[0]]
      for (const replica of replicas) replica.change()
      yield* until(() => changes === 1)
      serving.child.kill("SIGTERM")
      yield* until(() => other.listens)
      // Something may have changed in between.
      yield* until(() => changes === 2)
      other.change()
      yield* until(() => changes === 3)
    }))
})
