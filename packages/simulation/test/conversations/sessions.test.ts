import { Faults } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Command from "../../src/conversations/Command.ts"
import * as Conversation from "../../src/conversations/Conversation.ts"
import * as ConversationLaws from "../../src/conversations/ConversationLaws.ts"
import * as FailureReport from "../../src/conversations/FailureReport.ts"
import type * as History from "../../src/conversations/History.ts"
import * as Search from "../../src/conversations/Search.ts"
import * as Simulation from "../../src/conversations/Simulation.ts"
import { keepTheirLaws } from "../support/keepTheirLaws.ts"

const conversation = (
  commands: ReadonlyArray<Command.Command>,
  options: Partial<Conversation.Conversation> = {}
): Conversation.Conversation => ({
  era: "Handshake",
  form: "OneStream",
  interleaving: "Fair",
  faults: Faults.none,
  seed: 1,
  ...options,
  commands
})

const ends = ({ entries }: History.History): ReadonlyArray<string> =>
  entries.flatMap(({ event }) => event._tag === "Ended" ? [event.end.kind] : [])

describe("simulated conversations", () => {
  for (const portion of [1, 2]) {
    it.effect(`keep laws 1 to 8, 10 and 12 (part ${portion})`, () => keepTheirLaws(portion), { timeout: 60_000 })
  }

  it.effect("law 13: the same conversation has the same history, message for message", () =>
    Effect.gen(function*() {
      const drawn = yield* Arbitrary.sampleEffect(Conversation.arbitrary, { count: 200, size: 20, seed: 13 })
      for (const one of drawn) {
        const [first, second] = [Simulation.run(one), Simulation.run(one)]
        assert.strictEqual(FailureReport.transcript(second), FailureReport.transcript(first))
        assert.deepStrictEqual(JSON.stringify(second.entries), JSON.stringify(first.entries))
      }
    }))

  it("law 13: another seed leads to another history", () => {
    const commands: ReadonlyArray<Command.Command> = [{ _tag: "Burst", session: 0, tool: "steps", count: 10 }]
    const transcripts = Array.from({ length: 20 }, (_, seed) =>
      FailureReport.transcript(
        Simulation.run(conversation(commands, { seed, interleaving: "Random", faults: { ...Faults.none, delay: 40 } }))
      ))
    assert.strictEqual(new Set(transcripts).size, 20)
  })

  it("reach every kind of end and every event, and every command is drawn", () => {
    const drawn = Effect.runSync(Arbitrary.sampleEffect(Conversation.arbitrary, { count: 1000, size: 20, seed: 2 }))
    const commands = new Set(drawn.flatMap(({ commands }) => commands.map(({ _tag }) => _tag)))
    assert.strictEqual(commands.size, Command.Command.members.length)
    const missing = new Set<string>([
      "end: Success",
      "end: ErrorResponse",
      "end: Timeout",
      "end: Interrupted",
      "end: Closed",
      "end: SendFailed",
      "event: StateChanged",
      "event: BadFrame",
      "event: Malformed",
      "event: UnmatchedResponse",
      "event: Rejected",
      "event: NotificationIgnored",
      "event: CancelIgnored",
      "event: Cancelled",
      "event: CancelSent",
      "event: ProgressDropped",
      "event: HandlerFailed",
      "event: SendFailed",
      "event: Tolerated",
      "event: Closed"
    ])
    // Runs no more conversations than the rarest one needs: on a crowded machine, all 1,000 take half a minute.
    for (const one of drawn) {
      const history = Simulation.run(one)
      for (const end of ends(history)) missing.delete(`end: ${end}`)
      for (const { event } of history.entries) {
        if (event._tag === "SessionEvent") missing.delete(`event: ${event.detail._tag}`)
      }
      if (missing.size === 0) break
    }
    assert.deepStrictEqual([...missing], [])
  })

  it("of revision 2026-07-28 reach rounds, streams of notifications, sealed steps and streams that are left", () => {
    const drawn = Effect.runSync(Arbitrary.sampleEffect(Conversation.arbitrary, { count: 1000, size: 20, seed: 3 }))
    const missing = new Set(["requestState", "acknowledged", "Stepped", "Updated", "StreamLeft", "QuestionFailed"])
    for (const one of drawn) {
      if (one.era !== "Modern") continue
      const history = Simulation.run(one)
      for (const end of ends(history)) missing.delete(end)
      for (const { event } of history.entries) {
        missing.delete(event._tag)
        if (event._tag !== "Received" || !("method" in event.message)) continue
        if (event.message.params?.["requestState"] === "state-1") missing.delete("requestState")
        missing.delete(event.message.method.split("/").at(-1) ?? "")
      }
      if (missing.size === 0) break
    }
    assert.deepStrictEqual([...missing], [])
  })

  it("have a handshake if they were stored without an era", () => {
    const { era, ...stored } = conversation([], { era: "Modern" })
    const decode = Schema.decodeUnknownSync(Conversation.Conversation)
    assert.strictEqual(decode(stored).era, "Handshake")
    assert.strictEqual(decode({ ...stored, era }).era, "Modern")
  })

  it("a response whose id is the text of a number completes the call with this number", () => {
    for (const era of ["Handshake", "Modern"] as const) {
      const history = Simulation.run(conversation([
        { _tag: "Open", session: 0 },
        { _tag: "Advance", millis: 10 },
        { _tag: "Inject", session: 0, at: "client", what: "TextualId" },
        { _tag: "Call", session: 0, tool: "echo", deadline: 60_000, extension: "None" }
      ], { era }))
      assert.strictEqual(ends(history)[0], "Success")
      const reports = history.entries.flatMap(({ event }) =>
        event._tag === "SessionEvent" && event.detail._tag === "Tolerated" ? [event.detail.problem] : []
      )
      assert.deepStrictEqual(reports, ["the id of the response is \"1\", and that of the request 1"])
      assert.deepStrictEqual(ConversationLaws.violations(history), [])
    }
  })

  it("an hour passes at once", () => {
    const history = Simulation.run(conversation([
      { _tag: "Call", session: 0, tool: "never", deadline: 60_000, extension: "None" },
      { _tag: "Advance", millis: 3_600_000 },
      { _tag: "Call", session: 0, tool: "echo", deadline: 60_000, extension: "None" }
    ]))
    assert.deepStrictEqual(ends(history).slice(0, 2), ["Timeout", "Success"])
    assert.isAbove(history.entries.at(-1)?.at ?? 0, 3_600_000)
  })
})

describe("a conversation in which a law was broken", () => {
  /** Conversations that a search has found and shrunk, each of a bug that was fixed. */
  const found: ReadonlyArray<readonly [what: string, conversation: Conversation.Conversation]> = [
    [
      "[MSG-05] a second request with the id of one whose reply waits to be sent was served as well",
      conversation([
        { _tag: "ServerRequest", session: 0, what: "elicit" },
        { _tag: "Stall", session: 1, towards: "client" },
        { _tag: "Burst", session: 1, tool: "echo", count: 10 }
      ], { seed: 89_805, faults: { ...Faults.none, split: true, merge: true, duplicate: true } })
    ],
    [
      "a client tried for ever to open a stream of notifications after its session had ended",
      conversation([
        { _tag: "Subscribe", session: 0, resource: "a" },
        { _tag: "FailWrite", session: 0, by: "server" },
        { _tag: "Subscribe", session: 0, resource: "b" }
      ], { era: "Modern" })
    ]
  ]
  for (const [what, one] of found) {
    it(what, () => {
      const violations = Search.judge(one)
      assert.deepStrictEqual(violations, [], Search.describe({ input: one, violations }))
    })
  }
})

describe("a search", () => {
  it.effect(
    "finds nothing where there is nothing, and the same where there is something",
    () =>
      Effect.gen(function*() {
        assert.isUndefined(yield* Search.run({ runs: 50, seed: 1 }))
        // With a law that forbids interruptions, the search finds something.
        const minds = (one: Conversation.Conversation) => !ends(Simulation.run(one)).includes("Interrupted")
        const search = Arbitrary.checkEffect(Conversation.arbitrary, minds, { runs: 2000, seed: 7, maxShrinks: 2000 })
        const results = [yield* search, yield* search]
        assert.deepStrictEqual(results[0], results[1])
        const [result] = results
        assert.strictEqual(result?._tag, "Falsified")
        if (result?._tag !== "Falsified") return
        assert.isAtMost(result.shrunkInput.commands.length, 2)
        assert.deepStrictEqual(result.shrunkInput.faults, Faults.none)
      }),
    { timeout: 60_000 }
  )

  it("reports a conversation that did not end", () => {
    const violations = [{ law: "law 1: every request ends", problem: "it does not" }]
    const lines = Search.describe({ input: conversation([]), violations }).split("\n")
    assert.strictEqual(lines[0], "law 1: every request ends: it does not")
    assert.match(lines.at(-1) ?? "", /^ {2}pnpm simulate --conversation '\{.*\}'$/)
  })
})

describe("the report of a failure", () => {
  const history = Simulation.run(conversation([
    { _tag: "Call", session: 0, tool: "steps", deadline: 60_000, extension: "None" },
    { _tag: "Advance", millis: 100 },
    { _tag: "Cut", session: 0 }
  ], { faults: { ...Faults.none, delay: 3, split: true } }))
  const violations = [
    { law: "law 1: every request ends exactly once", problem: "client 0: request 0 never ended" }
  ]
  const report = FailureReport.describe(history.conversation, violations, history)

  it("contains the violation, the faults and the commands", () => {
    assert.include(report, "law 1: every request ends exactly once: client 0: request 0 never ended")
    const circumstances =
      "one stream, fair interleaving, faults of the wires: delay 3 ms, split, clients with a handshake"
    assert.include(report, `steps (${circumstances}):`)
    assert.include(report, "   1. Call {\"session\":0,\"tool\":\"steps\",\"deadline\":60000,\"extension\":\"None\"}")
  })

  it("contains all messages with their times, and the states of both sides", () => {
    assert.match(report, /^ +\d+ ms {2}client 0 {2}→ \{"jsonrpc":"2\.0","id":0,"method":"initialize"/m)
    assert.match(report, /^ +\d+ ms {2}server 0 {2}← \{"jsonrpc":"2\.0","id":0,"method":"initialize"/m)
    assert.match(report, /^ +\d+ ms {2}client 0 {2}Idle ⇒ Initializing$/m)
    assert.match(report, /^ +100 ms {12}do Cut \{"session":0\}$/m)
  })

  it("draws a sequence diagram, with a cross for lost messages", () => {
    const cut = Simulation.run(conversation([
      { _tag: "Call", session: 0, tool: "echo", deadline: 60_000, extension: "None" },
      { _tag: "Cut", session: 0 }
    ], { faults: { ...Faults.none, delay: 40 }, seed: 4 }))
    const lines = FailureReport.sequenceDiagram(cut, 0).split("\n")
    assert.strictEqual(lines[0], "sequenceDiagram")
    assert.include(lines, "  client-xserver: initialize (0)")
    // No line contains a character with a meaning in Mermaid.
    for (const line of lines.slice(1)) {
      assert.match(line, /^ {2}(?:(?:client|server)-[>x]+(?:client|server): |Note over )[^;#]+$/)
    }
  })

  it("ends with the command that reproduces it", () => {
    const [, line = ""] = /pnpm simulate --conversation '(.*)'/.exec(report) ?? []
    const again = Schema.decodeUnknownSync(Conversation.Conversation)(JSON.parse(line))
    assert.strictEqual(FailureReport.transcript(Simulation.run(again)), FailureReport.transcript(history))
  })
})
