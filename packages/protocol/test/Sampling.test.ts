import { Sampling } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const text: Sampling.SamplingContent = { type: "text", text: "so" }
const use = (id: string): Sampling.SamplingContent => ({ type: "tool_use", id, name: "add", input: {} })
const result = (toolUseId: string): Sampling.SamplingContent => ({ type: "tool_result", toolUseId, content: [] })

type Content = Sampling.SamplingMessage["content"]

const assistant = (content: Content): Sampling.SamplingMessage => ({ role: "assistant", content })
const user = (content: Content): Sampling.SamplingMessage => ({ role: "user", content })

const sound: ReadonlyArray<readonly [string, ReadonlyArray<Sampling.SamplingMessage>]> = [
  ["no messages", []],
  ["messages without tools", [user(text), assistant([text, text]), user([])]],
  ["a use and its result", [user(text), assistant(use("1")), user(result("1"))]],
  ["the same in lists", [assistant([use("1")]), user([result("1")])]],
  ["results in another order", [assistant([use("1"), use("2")]), user([result("2"), result("1")])]],
  ["a use beside other content", [assistant([text, use("1"), text]), user(result("1"))]],
  ["one use after the other", [assistant(use("1")), user(result("1")), assistant(use("2")), user(result("2"))]],
  ["an id that comes again later", [assistant(use("1")), user(result("1")), assistant(use("1")), user(result("1"))]],
  ["a use at the end, still to be answered", [user(text), assistant(use("1"))]],
  ["talk after a result", [assistant(use("1")), user(result("1")), user(text), assistant(text)]],
  ["ids that every object knows", [
    assistant([use("__proto__"), use("constructor")]),
    user([result("constructor"), result("__proto__")])
  ]]
]

const unsound: ReadonlyArray<
  readonly [id: string, string, at: number, ReadonlyArray<Sampling.SamplingMessage>]
> = [
  ["[SMP-03]", "a result beside text", 2, [assistant(use("1")), user([result("1"), text])]],
  ["[SMP-03]", "a result beside a use", 2, [assistant(use("1")), user([result("1"), use("2")])]],
  ["[SMP-03]", "a result beside text, at the start", 1, [user([text, result("1")])]],
  ["[SMP-04]", "a result at the start", 1, [user(result("1"))]],
  ["[SMP-04]", "a result of no use", 2, [assistant(text), user(result("1"))]],
  ["[SMP-04]", "a result of another use", 2, [assistant(use("1")), user(result("2"))]],
  ["[SMP-04]", "a result too many", 2, [assistant(use("1")), user([result("1"), result("2")])]],
  ["[SMP-04]", "a result too few", 2, [assistant([use("1"), use("2")]), user(result("1"))]],
  ["[SMP-04]", "a use that is not answered", 2, [assistant(use("1")), user(text)]],
  ["[SMP-04]", "a use that is answered by nothing", 2, [assistant(use("1")), user([])]],
  ["[SMP-04]", "a result that comes late", 2, [assistant(use("1")), user(text), user(result("1"))]],
  ["[SMP-04]", "a result that comes twice", 3, [assistant(use("1")), user(result("1")), user(result("1"))]],
  ["[SMP-04]", "a use among earlier messages", 2, [
    assistant(use("1")),
    user(text),
    assistant(use("2")),
    user(result("2"))
  ]]
]

describe("uses of tools and their results", () => {
  it.each(sound)("[SMP-03] [SMP-04] match: %s", (_, messages) => {
    assert.isTrue(Result.isSuccess(Sampling.checkToolUse(messages)))
  })

  it.each(unsound)("%s do not match: %s, in message %i", (_, __, at, messages) => {
    const checked = Sampling.checkToolUse(messages)
    assert.isTrue(Result.isFailure(checked))
    if (Result.isFailure(checked)) assert.match(checked.failure, new RegExp(`^message ${at} `))
  })

  /** A conversation in which every use is answered, one list of ids for each exchange. */
  const conversation = (exchanges: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<Sampling.SamplingMessage> =>
    exchanges.flatMap((ids) =>
      ids.length === 0
        ? [assistant(text)]
        : [assistant([text, ...ids.map(use)]), user([...ids].toReversed().map(result)), user(text)]
    )

  const exchanges = Schema.Array(Schema.Array(Schema.String))

  it.prop("[SMP-03] [SMP-04] what is answered matches, whatever the ids", [exchanges], ([exchanges]) => {
    assert.isTrue(Result.isSuccess(Sampling.checkToolUse(conversation(exchanges))))
  })

  it.prop("[SMP-04] one answer less, and it does not", [exchanges, Schema.String], ([exchanges, id]) => {
    const messages = conversation(exchanges)
    const checked = Sampling.checkToolUse([...messages, assistant(use(id)), user(text)])
    assert.deepStrictEqual(
      checked,
      Result.fail(`message ${messages.length + 2} does not answer the tool use "${id}"`)
    )
  })

  it.prop("[SMP-04] one answer more, and it does not", [exchanges, Schema.String], ([exchanges, id]) => {
    assert.isTrue(
      Result.isFailure(Sampling.checkToolUse([user(text), ...conversation(exchanges), user(text), user(result(id))]))
    )
  })

  it.prop("[SMP-03] with anything beside an answer, it does not", [
    exchanges,
    Arbitrary.filter(Arbitrary.schema(Sampling.SamplingContent), ({ type }) => type !== "tool_result")
  ], ([exchanges, other]) => {
    const messages = [...conversation(exchanges), assistant(use("1")), user([result("1"), other])]
    assert.deepStrictEqual(
      Sampling.checkToolUse(messages),
      Result.fail(`message ${messages.length} mixes tool results with other content`)
    )
  })

  it.prop(
    "[SMP-03] [SMP-04] one piece counts as a list of one",
    [Schema.Array(Sampling.SamplingMessage)],
    ([messages]) => {
      const listed = messages.map((message) =>
        "type" in message.content ? { ...message, content: [message.content] } : message
      )
      assert.deepStrictEqual(Sampling.checkToolUse(messages), Sampling.checkToolUse(listed))
    }
  )
})

describe("[SMP-02] asking for tools", () => {
  const params: Sampling.CreateMessageParams = { messages: [user(text)], maxTokens: 100 }

  it("is done by offering some, be it none, or by choosing among them", () => {
    assert.isTrue(Sampling.usesTools({ ...params, tools: [] }))
    assert.isTrue(Sampling.usesTools({ ...params, tools: [{ name: "add", inputSchema: { type: "object" } }] }))
    assert.isTrue(Sampling.usesTools({ ...params, toolChoice: {} }))
    assert.isTrue(Sampling.usesTools({ ...params, toolChoice: { mode: "none" } }))
  })

  it("is not done by messages alone", () => {
    assert.isFalse(Sampling.usesTools(params))
    assert.isFalse(Sampling.usesTools({ ...params, messages: [assistant(use("1")), user(result("1"))] }))
  })

  it.prop("is a matter of these two members and no other", [Sampling.CreateMessageParams], ([params]) => {
    const { toolChoice: _, tools: __, ...rest } = params
    assert.isFalse(Sampling.usesTools(rest))
    assert.strictEqual(Sampling.usesTools(params), "tools" in params || "toolChoice" in params)
  })
})
