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

const valid: ReadonlyArray<readonly [string, ReadonlyArray<Sampling.SamplingMessage>]> = [
  ["no messages", []],
  ["messages without tools", [user(text), assistant([text, text]), user([])]],
  ["a use and its result", [user(text), assistant(use("1")), user(result("1"))]],
  ["the same in lists", [assistant([use("1")]), user([result("1")])]],
  ["results in another order", [assistant([use("1"), use("2")]), user([result("2"), result("1")])]],
  ["a use beside other content", [assistant([text, use("1"), text]), user(result("1"))]],
  ["one use after the other", [assistant(use("1")), user(result("1")), assistant(use("2")), user(result("2"))]],
  ["an id that is used again later", [assistant(use("1")), user(result("1")), assistant(use("1")), user(result("1"))]],
  ["a use at the end, without a result yet", [user(text), assistant(use("1"))]],
  ["text after a result", [assistant(use("1")), user(result("1")), user(text), assistant(text)]],
  ["ids with inherited names", [
    assistant([use("__proto__"), use("constructor")]),
    user([result("constructor"), result("__proto__")])
  ]]
]

const invalid: ReadonlyArray<
  readonly [id: string, string, at: number, ReadonlyArray<Sampling.SamplingMessage>]
> = [
  ["[SMP-03]", "a result beside text", 2, [assistant(use("1")), user([result("1"), text])]],
  ["[SMP-03]", "a result beside a use", 2, [assistant(use("1")), user([result("1"), use("2")])]],
  ["[SMP-03]", "a result beside text, at the start", 1, [user([text, result("1")])]],
  ["[SMP-04]", "a result at the start", 1, [user(result("1"))]],
  ["[SMP-04]", "a result without a use", 2, [assistant(text), user(result("1"))]],
  ["[SMP-04]", "a result of another use", 2, [assistant(use("1")), user(result("2"))]],
  ["[SMP-04]", "one result too many", 2, [assistant(use("1")), user([result("1"), result("2")])]],
  ["[SMP-04]", "one result too few", 2, [assistant([use("1"), use("2")]), user(result("1"))]],
  ["[SMP-04]", "a use without a result", 2, [assistant(use("1")), user(text)]],
  ["[SMP-04]", "a use before an empty message", 2, [assistant(use("1")), user([])]],
  ["[SMP-04]", "a late result", 2, [assistant(use("1")), user(text), user(result("1"))]],
  ["[SMP-04]", "a duplicate result", 3, [assistant(use("1")), user(result("1")), user(result("1"))]],
  ["[SMP-04]", "a use without a result among earlier messages", 2, [
    assistant(use("1")),
    user(text),
    assistant(use("2")),
    user(result("2"))
  ]]
]

describe("checkToolUse", () => {
  it.each(valid)("[SMP-03] [SMP-04] accepts %s", (_, messages) => {
    assert.isTrue(Result.isSuccess(Sampling.checkToolUse(messages)))
  })

  it.each(invalid)("%s rejects %s, in message %i", (_, __, at, messages) => {
    const checked = Sampling.checkToolUse(messages)
    assert.isTrue(Result.isFailure(checked))
    if (Result.isFailure(checked)) assert.match(checked.failure, new RegExp(`^message ${at} `))
  })

  /** Creates a conversation in which every use has a result. Each list has the ids of one exchange. */
  const conversation = (exchanges: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<Sampling.SamplingMessage> =>
    exchanges.flatMap((ids) =>
      ids.length === 0
        ? [assistant(text)]
        : [assistant([text, ...ids.map(use)]), user([...ids].toReversed().map(result)), user(text)]
    )

  const exchanges = Schema.Array(Schema.Array(Schema.String))

  it.prop("[SMP-03] [SMP-04] accepts a conversation in which every use has a result", [exchanges], ([exchanges]) => {
    assert.isTrue(Result.isSuccess(Sampling.checkToolUse(conversation(exchanges))))
  })

  it.prop("[SMP-04] rejects a missing result", [exchanges, Schema.String], ([exchanges, id]) => {
    const messages = conversation(exchanges)
    const checked = Sampling.checkToolUse([...messages, assistant(use(id)), user(text)])
    assert.deepStrictEqual(
      checked,
      Result.fail(`message ${messages.length + 2} does not answer the tool use "${id}"`)
    )
  })

  it.prop("[SMP-04] rejects an additional result", [exchanges, Schema.String], ([exchanges, id]) => {
    assert.isTrue(
      Result.isFailure(Sampling.checkToolUse([user(text), ...conversation(exchanges), user(text), user(result(id))]))
    )
  })

  it.prop("[SMP-03] rejects other content in a message with results", [
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
    "[SMP-03] [SMP-04] treats one block as a list of one block",
    [Schema.Array(Sampling.SamplingMessage)],
    ([messages]) => {
      const asLists = messages.map((message) =>
        "type" in message.content ? { ...message, content: [message.content] } : message
      )
      assert.deepStrictEqual(Sampling.checkToolUse(messages), Sampling.checkToolUse(asLists))
    }
  )
})

describe("[SMP-02] usesTools", () => {
  const params: Sampling.CreateMessageParams = { messages: [user(text)], maxTokens: 100 }

  it("is true for params with tools, even an empty list, or with toolChoice", () => {
    assert.isTrue(Sampling.usesTools({ ...params, tools: [] }))
    assert.isTrue(Sampling.usesTools({ ...params, tools: [{ name: "add", inputSchema: { type: "object" } }] }))
    assert.isTrue(Sampling.usesTools({ ...params, toolChoice: {} }))
    assert.isTrue(Sampling.usesTools({ ...params, toolChoice: { mode: "none" } }))
  })

  it("is false for messages with tool uses alone", () => {
    assert.isFalse(Sampling.usesTools(params))
    assert.isFalse(Sampling.usesTools({ ...params, messages: [assistant(use("1")), user(result("1"))] }))
  })

  it.prop("depends only on these two members", [Sampling.CreateMessageParams], ([params]) => {
    const { toolChoice: _, tools: __, ...rest } = params
    assert.isFalse(Sampling.usesTools(rest))
    assert.strictEqual(Sampling.usesTools(params), "tools" in params || "toolChoice" in params)
  })
})
