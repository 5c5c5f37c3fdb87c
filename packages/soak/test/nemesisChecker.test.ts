/** The checker of the nemesis finds each kind of fault: a history that breaks one rule is reported with this rule. */
import { assert, describe, it } from "vitest"
import * as Checker from "../src/nemesis/Checker.ts"
import type { Exchange, Fault, ReceivedEvent } from "../src/nemesis/History.ts"
import * as Bookings from "../src/nemesis/rules/bookingRules.ts"
import { summariesOf } from "../src/nemesis/rules/recoveryRule.ts"

/** The parts of an exchange that a test states; the others are those of a complete POST with status 200. */
interface Part extends Partial<Omit<Exchange, "events" | "sent" | "number">> {
  readonly at: number
  readonly sent?: unknown
  readonly events?: ReadonlyArray<readonly [id: string | undefined, data: unknown]>
}

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value)

/** Returns the history of these exchanges. Their events come one millisecond after the other. */
const historyOf = (
  parts: ReadonlyArray<Part>,
  faults: ReadonlyArray<Fault> = [],
  charges: Readonly<Record<string, number>> = {}
) => ({
  isDurable: true,
  charges,
  faults,
  crashes: [],
  exchanges: parts.map(({ at, events = [], sent, ...part }, number): Exchange => ({
    number,
    principal: "ada",
    process: "1.1",
    purpose: "call",
    method: "POST",
    session: "s",
    lastEventId: undefined,
    sent: sent === undefined ? undefined : textOf(sent),
    startedAt: at,
    respondedAt: at + 1,
    status: 200,
    opened: undefined,
    retryAfter: undefined,
    body: "",
    endedAt: at + 10,
    ending: "complete",
    ...part,
    events: events.map(([id, data], index): ReceivedEvent => ({ at: at + index + 1, id, data: textOf(data) }))
  }))
})

const rulesOf = (
  parts: ReadonlyArray<Part>,
  faults?: ReadonlyArray<Fault>,
  charges?: Readonly<Record<string, number>>
): ReadonlyArray<string> => [
  ...new Set(Checker.check(historyOf(parts, faults, charges)).map(({ rule }) => rule))
]

const opened: Part = { at: -100, purpose: "open", session: undefined, opened: "s" }

const kill: Fault = { kind: "kill", target: "1", at: 0, recoversFrom: 0, until: 200 }

const cutStore: Fault = { ...kill, kind: "cut-store" }

const request = (id: number, name: string, input: unknown) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input }
})

const result = (id: number, text: string) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })

const unknown = (id: number) => ({
  jsonrpc: "2.0",
  id,
  error: { code: -31013, message: "unknown", data: { outcome: "unknown" } }
})

const progress = (id: number, progress: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: id, progress }
})

const question = (id: number | string, message: string) => ({
  jsonrpc: "2.0",
  id,
  method: "elicitation/create",
  params: { message }
})

const answer = (id: number, question: string, answer: string) => ({
  jsonrpc: "2.0",
  id,
  result: { content: [], structuredContent: { question, answer } }
})

const slow = (id: number, ms: number) => request(id, "slow", { ms })

const echo = (at: number, id: number): Part => ({
  at,
  sent: request(id, "echo", { text: `text ${id}` }),
  body: JSON.stringify(result(id, `text ${id}`))
})

/** A call whose connection broke, and whose stream the client resumed. */
const resumed: ReadonlyArray<Part> = [
  { at: 10, sent: slow(1, 200), events: [["a", ""], ["b", progress(1, 100)]], ending: "broken" },
  {
    at: 30,
    purpose: "resume",
    method: "GET",
    lastEventId: "b",
    events: [["c", progress(1, 200)], ["d", result(1, "200 ms")]]
  }
]

describe("the checker of histories", () => {
  it("a call that is resumed after a fault breaks no rule", () => {
    assert.deepStrictEqual(rulesOf([opened, ...resumed, echo(300, 2)], [kill]), [])
  })

  it("two final responses to one call are reported", () => {
    const again: Part = { at: 50, purpose: "resume", method: "GET", lastEventId: "d", events: [["e", unknown(1)]] }
    assert.include(rulesOf([opened, ...resumed, again], [kill]), "one-response")
  })

  it("a final response that is read again is one", () => {
    const again: Part = {
      at: 50,
      purpose: "reread",
      method: "GET",
      lastEventId: "c",
      events: [["d", result(1, "200 ms")]]
    }
    assert.deepStrictEqual(rulesOf([opened, ...resumed, again], [kill]), [])
  })

  it("a call without a final response is reported, unless its client was told nothing", () => {
    const begun: Part = { at: 10, sent: slow(1, 200), events: [["a", ""]], ending: "broken" }
    const silent: Part = { at: 10, sent: slow(1, 200), ending: "broken", status: undefined }
    assert.deepStrictEqual(rulesOf([opened, begun], [kill]), ["answered"])
    assert.deepStrictEqual(rulesOf([opened, silent], [kill]), [])
  })

  it("the result of another call is reported", () => {
    const other: Part = { ...echo(10, 1), body: JSON.stringify(result(1, "text 2")) }
    assert.deepStrictEqual(rulesOf([opened, other]), ["own-result"])
  })

  it("the answer to another question is reported", () => {
    const asked = (text: string): Part => ({
      at: 10,
      sent: request(1, "ask", { question: "q1" }),
      events: [["a", question("s1", "q1")], ["b", answer(1, "q1", text)]]
    })
    assert.deepStrictEqual(rulesOf([opened, asked("answer to q1")]), [])
    assert.deepStrictEqual(rulesOf([opened, asked("answer to q2")]), ["own-result"])
    const failed = { jsonrpc: "2.0", id: 1, result: { content: [], isError: true } }
    const call: Part = { ...asked(""), events: [["a", question("s1", "q1")], ["b", failed]] }
    assert.deepStrictEqual(rulesOf([opened, call], [{ ...kill, kind: "terminate" }]), ["own-result"])
  })

  it("an error without a reason is reported, and an unknown outcome without a fault", () => {
    const failure = { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } }
    const failed = (error: unknown): Part => ({ ...echo(10, 1), body: JSON.stringify(error) })
    assert.deepStrictEqual(rulesOf([opened, failed(failure)], [kill]), ["own-result"])
    assert.deepStrictEqual(rulesOf([opened, failed(unknown(1))], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, failed(unknown(1))]), ["own-result"])
    const late = { ...failed(unknown(1)), at: 6000 }
    assert.deepStrictEqual(rulesOf([opened, echo(100, 2), late], [kill]), ["own-result"])
  })

  it("a cancelled call that goes on is reported", () => {
    const cancel: Part = {
      at: 50,
      purpose: "cancel",
      status: 202,
      sent: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }
    }
    const call = (events: Part["events"]): Part => ({ at: 10, sent: slow(1, 100), endedAt: 200, events: events ?? [] })
    assert.deepStrictEqual(rulesOf([opened, call([["a", ""]]), cancel]), [])
    const late: Part = {
      at: 150,
      purpose: "resume",
      method: "GET",
      lastEventId: "a",
      events: [["b", progress(1, 100)], ["c", result(1, "100 ms")]]
    }
    assert.deepStrictEqual(rulesOf([opened, call([["a", ""]]), cancel, late]), ["cancelled"])
  })

  it("an id that runs twice is reported", () => {
    const begun: Part = { at: 10, sent: slow(1, 0), endedAt: 100, events: [["a", ""]] }
    const end: Part = {
      at: 200,
      purpose: "resume",
      method: "GET",
      lastEventId: "a",
      events: [["b", result(1, "0 ms")]]
    }
    const second = (body: unknown): Part => ({
      at: 20,
      purpose: "duplicate",
      sent: request(1, "echo", { text: "x" }),
      body: JSON.stringify(body)
    })
    const rejected = { jsonrpc: "2.0", id: 1, error: { code: -32600, message: "in use" } }
    assert.deepStrictEqual(rulesOf([opened, begun, second(rejected), end], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, begun, second(result(1, "x")), end], [kill]), ["duplicate"])
  })

  it("a question with the id of another question is reported", () => {
    const ask = (at: number, id: number, event: string): Part => ({
      at,
      sent: request(id, "ask", { question: `q${id}` }),
      events: [[`${event}1`, question("s1", `q${id}`)], [`${event}2`, answer(id, `q${id}`, `answer to q${id}`)]]
    })
    assert.deepStrictEqual(rulesOf([opened, ask(10, 1, "a"), ask(30, 2, "b")]), ["question-ids"])
  })

  it("a question that stays open after the end of its call is reported", () => {
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "s1" } }
    const ask = (events: ReadonlyArray<readonly [string, unknown]>): Part => ({
      at: 10,
      sent: request(1, "ask", { question: "q1" }),
      events: [["a", ""], ["a1", question("s1", "q1")], ...events, ["c", unknown(1)]]
    })
    assert.deepStrictEqual(rulesOf([opened, ask([["b", cancelled]])], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, ask([])], [kill]), ["questions-cancelled"])
    const ended: Part = { at: 11, purpose: "delete", method: "DELETE", status: 204 }
    assert.deepStrictEqual(rulesOf([opened, ask([]), ended], [kill]), [])
    // A question that could not be stored.
    const unstored: Part = { ...ask([]), events: [["a", ""], [undefined, question("s1", "q1")], ["c", unknown(1)]] }
    assert.deepStrictEqual(rulesOf([opened, unstored], [cutStore]), [])
    assert.deepStrictEqual(rulesOf([opened, unstored], [kill]), ["stored"])
  })

  it("an event id with two events is reported", () => {
    const call = (id: number, event: string): Part => ({
      ...echo(10 * id, id),
      body: "",
      events: [[event, result(id, `text ${id}`)]]
    })
    assert.deepStrictEqual(rulesOf([opened, call(1, "a"), call(2, "b")]), [])
    assert.deepStrictEqual(rulesOf([opened, call(1, "a"), call(2, "a")]), ["event-ids"])
  })

  it("an event without an id is reported, unless the store is away", () => {
    const call: Part = { at: 10, sent: slow(1, 0), events: [["a", ""], [undefined, result(1, "0 ms")]] }
    assert.deepStrictEqual(rulesOf([opened, call], [kill]), ["stored"])
    assert.deepStrictEqual(rulesOf([opened, call], [cutStore]), [])
  })

  it("an event that comes twice in one response is reported", () => {
    const call: Part = { at: 10, sent: slow(1, 0), events: [["a", ""], ["a", ""], ["b", result(1, "0 ms")]] }
    assert.include(rulesOf([opened, call]), "events-once")
  })

  it("a gap of a resumed stream is reported", () => {
    const listen = (at: number, ids: ReadonlyArray<string>, lastEventId?: string): Part => ({
      at,
      purpose: "listen",
      method: "GET",
      lastEventId,
      events: ids.map((id) => [id, ""])
    })
    assert.deepStrictEqual(rulesOf([opened, listen(10, ["a", "b", "c"]), listen(30, ["b", "c"], "a")]), [])
    assert.deepStrictEqual(rulesOf([opened, listen(10, ["a", "b", "c"]), listen(30, ["c"], "a")]), ["no-gap"])
  })

  it("progress that goes back, or leaves out a step, is reported", () => {
    const call = (...steps: ReadonlyArray<number>): Part => ({
      at: 10,
      sent: slow(1, 300),
      events: [...steps.map((step, index) => [`a${index}`, progress(1, step)] as const), ["b", result(1, "300 ms")]]
    })
    assert.deepStrictEqual(rulesOf([opened, call(100, 200, 300)]), [])
    assert.deepStrictEqual(rulesOf([opened, call(100, 300)]), ["progress"])
    assert.deepStrictEqual(rulesOf([opened, call(100, 200)]), ["progress"])
    assert.deepStrictEqual(rulesOf([opened, call(100, 200, 100, 200, 300)]), ["progress"])
  })

  it("an event after the final response is reported", () => {
    const call: Part = { at: 10, sent: slow(1, 100), events: [["a", result(1, "100 ms")], ["b", progress(1, 100)]] }
    assert.deepStrictEqual(rulesOf([opened, call]), ["nothing-after-final"])
  })

  it("404 for a live session is reported, also during a fault", () => {
    assert.deepStrictEqual(rulesOf([opened, { ...echo(10, 1), status: 404 }], [kill]), ["found"])
  })

  it("a session that serves after DELETE is reported", () => {
    const ended: Part = { at: 20, purpose: "delete", method: "DELETE", status: 204 }
    assert.deepStrictEqual(rulesOf([opened, ended, { ...echo(40, 1), status: 404 }]), [])
    assert.deepStrictEqual(rulesOf([opened, ended, echo(40, 1)]), ["deleted"])
    const away: Part = { ...echo(40, 1), body: "", status: 503 }
    assert.deepStrictEqual(rulesOf([opened, ended, away], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, ended, away]), ["deleted"])
  })

  it("a session that serves after its DELETE was answered with 404 is reported", () => {
    const lost: Part = { at: 20, purpose: "delete", method: "DELETE", status: undefined, ending: "broken" }
    const again: Part = { ...lost, at: 40, status: 404, ending: "complete" }
    assert.deepStrictEqual(rulesOf([opened, lost, again, { ...echo(60, 1), status: 404 }], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, lost, again, echo(60, 1)], [kill]), ["deleted"])
  })

  it("a response that distinguishes a foreign session from none is reported", () => {
    const none: Part = { at: 10, principal: "bob", session: "x", purpose: "unknown", status: 404, body: "no session" }
    const foreign: Part = { ...none, at: 20, session: "s", purpose: "foreign" }
    assert.deepStrictEqual(rulesOf([opened, none, foreign]), [])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, body: "not yours" }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, status: 200 }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, status: 503 }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, retryAfter: "1" }]), ["foreign"])
  })

  it("a foreign session has 503 only if its process is cut off, and the 503 of a session that does not exist", () => {
    const none: Part = { at: 10, principal: "bob", session: "x", purpose: "unknown", status: 503, body: "no store" }
    const foreign: Part = { ...none, session: "s", purpose: "foreign" }
    assert.deepStrictEqual(rulesOf([opened, none, foreign], [cutStore]), [])
    assert.deepStrictEqual(rulesOf([opened, foreign], [cutStore]), [])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, body: "no owner" }], [cutStore]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, status: 502 }], [cutStore]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, foreign], [{ ...cutStore, target: "2" }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, foreign], [{ ...kill, kind: "cut-peers" }]), ["foreign"])
    const ending: Fault = { ...kill, kind: "terminate" }
    assert.deepStrictEqual(rulesOf([opened, { ...foreign, body: "ends" }], [ending]), [])
  })

  it("a foreign session that its client waits for longer than for none is reported", () => {
    const none: Part = { at: 10, principal: "bob", session: "x", purpose: "unknown", status: 404 }
    const foreign: Part = { ...none, session: "s", purpose: "foreign" }
    const away: Part = { ...foreign, status: undefined, endedAt: 3010, ending: "abandoned" }
    assert.deepStrictEqual(rulesOf([opened, none, foreign]), [])
    assert.deepStrictEqual(rulesOf([opened, none, away], [{ ...kill, kind: "pause" }]), [])
    assert.deepStrictEqual(rulesOf([opened, none, away], [{ ...kill, kind: "pause", target: "2" }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, endedAt: 3010 }]), ["foreign"])
    assert.deepStrictEqual(rulesOf([opened, { ...none, endedAt: 3010 }, { ...foreign, endedAt: 3010 }]), [])
  })

  it("a response that distinguishes a foreign event from none is reported", () => {
    const none: Part = { at: 10, method: "GET", purpose: "unknown-event", status: 400, body: "no event" }
    const foreign: Part = { ...none, purpose: "foreign-event" }
    assert.deepStrictEqual(rulesOf([opened, none, foreign]), [])
    assert.deepStrictEqual(rulesOf([opened, none, { ...foreign, status: 200, events: [["a", ""]] }]), [
      "foreign-events"
    ])
  })

  it("the data of another session is reported", () => {
    const own: Part = {
      at: 10,
      sent: request(1, "echo", { text: "mark:ada-1:1" }),
      body: JSON.stringify(result(1, "mark:ada-1:1"))
    }
    const strange: Part = { at: 20, purpose: "listen", method: "GET", events: [["a", "mark:bob-1:7"]] }
    assert.deepStrictEqual(rulesOf([opened, own]), [])
    assert.deepStrictEqual(rulesOf([opened, own, strange]), ["own-data"])
  })

  it("503 without a fault or without Retry-After, and any other status, are reported", () => {
    const away: Part = { ...echo(120, 1), body: "", status: 503, retryAfter: "1" }
    assert.deepStrictEqual(rulesOf([opened, away], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, { ...away, retryAfter: undefined }], [kill]), ["statuses"])
    assert.deepStrictEqual(rulesOf([opened, away]), ["statuses"])
    assert.deepStrictEqual(rulesOf([opened, { ...away, status: 421 }], [kill]), ["statuses"])
  })

  it("a stream that has ended is reported when it is resumed, unless its call was cancelled meanwhile", () => {
    const slow: Part = { at: 10, sent: request(1, "slow", {}), events: [["a", progress(1, 1)]], ending: "abandoned" }
    const resume: Part = { at: 40, purpose: "resume", method: "GET", lastEventId: "a", status: 405 }
    const params = { requestId: 1 }
    const cancel: Part = {
      at: 45,
      purpose: "cancel",
      status: 202,
      sent: { jsonrpc: "2.0", method: "notifications/cancelled", params }
    }
    assert.include(rulesOf([opened, slow, resume]), "statuses")
    assert.notInclude(rulesOf([opened, slow, resume, cancel]), "statuses")
    assert.include(rulesOf([opened, slow, resume, { ...cancel, at: 60 }]), "statuses")
  })

  it("an answer whose outcome is unknown is reported without a fault", () => {
    const answer: Part = { at: 10, purpose: "answer", status: 502, body: JSON.stringify(unknown(1)) }
    assert.deepStrictEqual(rulesOf([opened, answer], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, answer]), ["statuses"])
  })

  it("a standalone stream that is new is not over, and one that is resumed is not in use", () => {
    const listen = (status: number, lastEventId?: string): Part => ({
      at: 10,
      purpose: "listen",
      method: "GET",
      status,
      lastEventId
    })
    assert.deepStrictEqual(rulesOf([opened, listen(409), listen(405, "a")]), [])
    assert.deepStrictEqual(rulesOf([opened, listen(405)]), ["statuses"])
    assert.deepStrictEqual(rulesOf([opened, listen(409, "a")]), ["statuses"])
  })

  it("a connection that breaks without a fault is reported, and a request that gets no response", () => {
    const broken: Part = { ...echo(10, 1), body: "", status: undefined, ending: "broken" }
    const hung: Part = { ...broken, ending: "abandoned", endedAt: 4000 }
    assert.deepStrictEqual(rulesOf([opened, broken], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, broken]), ["connections"])
    assert.deepStrictEqual(rulesOf([opened, hung]), ["connections"])
  })

  it("a busy machine excuses what is late, and nothing else", () => {
    const busy: Fault = { ...kill, kind: "busy" }
    const broken: Part = { ...echo(2000, 1), body: "", status: undefined, ending: "broken" }
    assert.deepStrictEqual(rulesOf([opened, { ...broken, at: 1000 }], [busy]), [])
    assert.deepStrictEqual(rulesOf([opened, broken], [busy]), ["connections"])
    const unstored: Part = { at: 10, sent: slow(1, 0), events: [[undefined, result(1, "0 ms")]] }
    assert.deepStrictEqual(rulesOf([opened, unstored], [busy]), ["stored"])
  })

  it("a call whose stream falls silent without a fault is reported", () => {
    const silent: Part = { at: 10, sent: slow(1, 100), events: [["a", ""]], ending: "abandoned", endedAt: 3000 }
    const resumed: Part = {
      at: 3100,
      purpose: "resume",
      method: "GET",
      lastEventId: "a",
      events: [["b", progress(1, 100)], ["c", result(1, "100 ms")]]
    }
    assert.deepStrictEqual(rulesOf([opened, silent, resumed], [kill]), [])
    assert.deepStrictEqual(rulesOf([opened, silent, resumed]), ["connections"])
  })

  it("a process that ends by itself is reported", () => {
    const crashes = [{ process: "1.1", at: 10, problem: "ended with 1" }]
    assert.deepStrictEqual(Checker.check({ ...historyOf([opened]), crashes }).map(({ rule }) => rule), ["processes"])
  })

  it("a change that a subscriber does not learn of is reported", () => {
    const uri = "fleet://harbour"
    const subscribed: Part = {
      at: 10,
      sent: { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri } },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} })
    }
    const touched: Part = { at: 30, sent: request(2, "touch", { uri }), body: JSON.stringify(result(2, uri)) }
    const update = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } }
    const listen = (uri: string): Part => ({
      at: 32,
      purpose: "listen",
      method: "GET",
      events: [["a", { ...update, params: { uri } }]]
    })
    const later = echo(20_000, 3)
    assert.deepStrictEqual(rulesOf([opened, subscribed, touched, listen(uri), later]), [])
    assert.deepStrictEqual(rulesOf([opened, subscribed, touched, listen("fleet://other"), later]), ["updates"])
  })

  it("a log message below the level is reported, and one above it that is missing", () => {
    const set: Part = {
      at: 10,
      sent: { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "warning" } },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} })
    }
    const log = (level: string, isReceived: boolean): Part => ({
      at: 30,
      sent: request(2, "log", { level, text: "hello" }),
      events: [
        ...(isReceived
          ? [["a", { jsonrpc: "2.0", method: "notifications/message", params: { level, data: "hello" } }] as const]
          : []),
        ["b", result(2, "hello")]
      ]
    })
    assert.deepStrictEqual(rulesOf([opened, set, log("error", true)]), [])
    assert.deepStrictEqual(rulesOf([opened, set, log("info", false)]), [])
    assert.deepStrictEqual(rulesOf([opened, set, log("info", true)]), ["log-levels"])
    assert.deepStrictEqual(rulesOf([opened, set, log("error", false)]), ["log-levels"])
  })

  it("a session that is not served 5 s after a fault is reported, and recoveries are measured", () => {
    const soon = [opened, echo(2100, 1), echo(8000, 2)]
    assert.deepStrictEqual(rulesOf(soon, [kill]), [])
    assert.deepStrictEqual(summariesOf(historyOf(soon, [kill])), [{
      kind: "kill",
      count: 1,
      median: 2110,
      longest: 2110
    }])
    assert.deepStrictEqual(rulesOf([opened, echo(8000, 2)], [kill]), ["recovery"])
  })
})

/** The parts of a booking whose process is lost while its question is open, and whose stream its client resumes. */
const booking = {
  who: {
    at: 10,
    sent: request(1, "who", {}),
    body: JSON.stringify(result(1, "77"))
  } satisfies Part,
  begun: {
    at: 30,
    sent: request(2, "book", { city: "Oslo" }),
    events: [["a1", ""], ["a2", progress(2, 1)], ["a3", progress(2, 2)], ["a4", question(5, "Which seat?")]],
    endedAt: 100,
    ending: "broken"
  } satisfies Part,
  resumed: (...events: ReadonlyArray<unknown>): Part => ({
    at: 2200,
    purpose: "resume",
    method: "GET",
    lastEventId: "a4",
    events: events.map((event, index) => [`a${index + 5}`, event] as const)
  }),
  answer: (at: number, seat: string, status = 202): Part => ({
    at,
    purpose: "answer",
    status,
    sent: { jsonrpc: "2.0", id: 5, result: { action: "accept", content: { seat } } }
  }),
  booked: (seat: string) => ({
    jsonrpc: "2.0",
    id: 2,
    result: { content: [], structuredContent: { city: "Oslo", seat, process: "78" } }
  })
}

const lost: Fault = { ...kill, pid: "77", at: 100, recoversFrom: 100 }

const charged = { Oslo: 1 }

describe("the checker of bookings", () => {
  const { answer, begun, booked, resumed, who } = booking
  const whole = [opened, who, begun, answer(2150, "1A"), resumed(progress(2, 3), booked("1A"))]

  it("a booking that goes on after the death of its process breaks no rule", () => {
    assert.deepStrictEqual(rulesOf(whole, [lost], charged), [])
    const [all] = Bookings.summariesOf(historyOf(whole, [lost], charged))
    assert.deepStrictEqual(all, { fault: "kill", count: 1, median: 1, longest: 1 })
  })

  it("an unknown outcome is reported, unless the fleet keeps no calls, or lost its processes five times", () => {
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } }
    const ended = [opened, who, begun, resumed(cancelled, unknown(2))]
    assert.deepStrictEqual(rulesOf(ended, [lost]), ["booking-goes-on", "booking-question"])
    assert.deepStrictEqual(Checker.check({ ...historyOf(ended, [lost]), isDurable: false }), [])
    assert.deepStrictEqual(rulesOf(ended, Array.from({ length: 5 }, () => lost)), ["booking-question"])
  })

  it("an unknown outcome before the first step is reported, unless the store was away", () => {
    const primed: Part = { ...begun, events: [["a4", ""]] }
    const ended = [opened, who, primed, resumed(unknown(2))]
    assert.deepStrictEqual(rulesOf(ended, [lost]), ["booking-goes-on"])
    assert.deepStrictEqual(rulesOf(ended, [lost, cutStore]), [])
    assert.include(rulesOf([opened, who, begun, resumed(unknown(2))], [lost, cutStore]), "booking-goes-on")
  })

  it("a booking that is refused is reported, unless the store is away", () => {
    const refused: Part = { ...begun, events: [], status: 429, retryAfter: "1", ending: "complete" }
    assert.deepStrictEqual(rulesOf([opened, refused], [cutStore]), [])
    assert.deepStrictEqual(rulesOf([opened, refused], [kill]), ["statuses"])
  })

  it("a question that is asked twice is reported, and one that is cancelled", () => {
    const again = [opened, who, begun, answer(2150, "1A"), resumed(question(6, "Which seat?"), progress(2, 3))]
    assert.include(rulesOf([...again, { ...resumed(booked("1A")), at: 2400 }], [lost], charged), "booking-question")
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } }
    const parts = [opened, who, begun, answer(2150, "1A"), resumed(cancelled, progress(2, 3), booked("1A"))]
    assert.deepStrictEqual(rulesOf(parts, [lost], charged), ["booking-question"])
  })

  it("progress that comes twice, or is missing, is reported", () => {
    const parts = (...steps: ReadonlyArray<number>) => [
      opened,
      who,
      begun,
      answer(2150, "1A"),
      resumed(...steps.map((step) => progress(2, step)), booked("1A"))
    ]
    assert.deepStrictEqual(rulesOf(parts(3), [lost], charged), [])
    assert.deepStrictEqual(rulesOf(parts(2, 3), [lost], charged), ["booking-progress"])
    assert.deepStrictEqual(rulesOf(parts(), [lost], charged), ["booking-progress"])
  })

  it("a seat that is not that of the first accepted answer is reported", () => {
    const parts = (seat: string) => [
      opened,
      who,
      begun,
      answer(2100, "1A"),
      answer(2150, "1B"),
      resumed(progress(2, 3), booked(seat))
    ]
    assert.deepStrictEqual(rulesOf(parts("1A"), [lost], charged), [])
    assert.deepStrictEqual(rulesOf(parts("1B"), [lost], charged), ["booking-seat"])
    // The first answer may have been processed although its sender did not learn it.
    const broken = { ...answer(2100, "1A"), status: undefined, ending: "broken" } as const
    const either = (seat: string) => [
      opened,
      who,
      begun,
      broken,
      answer(2150, "1B"),
      resumed(progress(2, 3), booked(seat))
    ]
    assert.deepStrictEqual(rulesOf(either("1A"), [lost], charged), [])
    assert.deepStrictEqual(rulesOf(either("1B"), [lost], charged), [])
  })

  it("an accepted answer that is lost is reported", () => {
    const parts = [opened, who, begun, answer(2150, "1A"), resumed("")]
    assert.include(rulesOf(parts, [lost], charged), "booking-answer")
  })

  it("a booking that was cancelled before its answer, and has a result, is reported", () => {
    const cancel: Part = {
      at: 50,
      purpose: "cancel",
      status: 202,
      sent: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }
    }
    assert.include(rulesOf([...whole, cancel], [lost], charged), "booking-cancelled")
  })

  it("a charge that is missing is reported, and a second one, unless the process was lost at the charge", () => {
    assert.deepStrictEqual(rulesOf(whole, [lost], {}), ["booking-charges"])
    assert.deepStrictEqual(rulesOf(whole, [{ ...lost, at: 32 }, lost], { Oslo: 2 }), [])
    assert.deepStrictEqual(rulesOf(whole, [{ ...lost, kind: "cut-peers" }], { Oslo: 2 }), ["booking-charges"])
    assert.deepStrictEqual(rulesOf(whole, [lost], { Oslo: 2 }), ["booking-charges"])
  })

  it("a booking that goes on late after the loss of its process is reported", () => {
    const away: Part = { ...resumed(), at: 300, status: 503, retryAfter: "1" }
    const late = { ...resumed(progress(2, 3), booked("1A")), at: 5200 }
    assert.include(
      rulesOf([opened, who, begun, answer(80, "1A"), away, late, echo(9000, 9)], [lost]),
      "booking-failover"
    )
    const prompt = [opened, who, begun, answer(80, "1A"), resumed(progress(2, 3), booked("1A")), echo(9000, 9)]
    assert.notInclude(rulesOf(prompt, [lost], charged), "booking-failover")
  })
})
