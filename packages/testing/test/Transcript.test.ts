import { Content, JsonRpc } from "@effect-mcp/protocol"
import type { Recording } from "@effect-mcp/session"
import { Transcript } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { transcripts } from "./support/transcripts.ts"

const problemOf = (...lines: ReadonlyArray<string>) => {
  const parsed = Transcript.parse(lines.join("\n"))
  return Result.isFailure(parsed) ? parsed.failure.message : undefined
}

const printed = (text: string) => Transcript.print(Result.getOrThrow(Transcript.parse(text)))

describe("Transcript", () => {
  it.prop("a printed transcript is parsed as an equal one", [transcripts], ([transcript]) => {
    const text = Transcript.print(transcript)
    assert.deepStrictEqual(Transcript.parse(text), Result.succeed(transcript))
    const count = transcript.reduce((sum, step) => sum + Transcript.lineCount(step), 0)
    assert.strictEqual(text.split("\n").length - 1, count)
  })

  it.prop(
    "whatever the text, it is read, and what is printed then is read as the same, or it is refused at one of its lines",
    [Arbitrary.schema(
      Schema.Array(Schema.Union([
        Schema.Literals([
          "→ ",
          "< ",
          "\n",
          "any order {\n",
          "in order {\n",
          "}",
          "{",
          "[",
          "_",
          "...",
          "$a",
          ",",
          "end",
          "\"a\":"
        ]),
        Schema.Literals([
          "wait ",
          "silence ",
          "5s",
          "ignore <",
          "#",
          "1",
          "\"",
          "\\",
          "\t",
          "\r\n",
          "unreadable",
          "deadline"
        ]),
        Schema.String
      ]))
    )],
    ([pieces]) => {
      const text = pieces.join("")
      const parsed = Transcript.parse(text)
      if (Result.isSuccess(parsed)) {
        assert.deepStrictEqual(Transcript.parse(Transcript.print(parsed.success)), parsed)
      } else {
        assert.isAtLeast(parsed.failure.column, 1)
        assert.isTrue(parsed.failure.line >= 1 && parsed.failure.line <= text.split("\n").length)
      }
    }
  )

  it("parses every kind of line, in ASCII and with any white space", () => {
    const text = [
      "#comment",
      "",
      "  > {\"id\" : 1}  ",
      "<[ _ , $a ,... ]\r",
      "> $a",
      "wait 1 min",
      "silence 60000ms",
      "deadline\t1500ms",
      "ignore < {\"method\":$a,...}",
      "any  order{",
      "< 1",
      "in order {",
      "> 2",
      "}",
      "}",
      "<unreadable",
      ">end",
      "< end"
    ]
    assert.strictEqual(
      printed(text.join("\n")),
      [
        "# comment",
        "",
        "→ {\"id\":1}",
        "← [_,$a, ...]",
        "→ $a",
        "wait 1min",
        "silence 1min",
        "deadline 1500ms",
        "ignore ← {\"method\":$a, ...}",
        "any order {",
        "  ← 1",
        "  in order {",
        "    → 2",
        "  }",
        "}",
        "← unreadable",
        "→ end",
        "← end",
        ""
      ].join("\n")
    )
    assert.deepStrictEqual(Transcript.parse(""), Result.succeed([]))
    assert.deepStrictEqual(Transcript.parse("\n"), Result.succeed([{ _tag: "Blank" }]))
  })

  it("an error names the line, the column and the expected text", () => {
    assert.strictEqual(
      problemOf("# one", "  hello there"),
      "line 2, column 3: expected →, ←, wait, silence, deadline, ignore ←, any order { or #, found hello"
    )
    assert.strictEqual(problemOf("← {\"a\":1", ""), "line 1, column 9: expected , or }, found the end of the line")
    assert.strictEqual(
      problemOf("", "→ {\"a\":1, ...}"),
      "line 2, column 11: expected a value without wildcards, because this line sends a message, found ..."
    )
    assert.strictEqual(
      problemOf("→ {\"a\":$b}"),
      "line 1, column 8: expected a name that a line above has bound, found $b"
    )
    assert.strictEqual(
      problemOf("ignore ← $b"),
      "line 1, column 10: expected a name that a line above has bound, found $b"
    )
    assert.strictEqual(
      problemOf("wait 1.5s"),
      "line 1, column 6: expected a duration such as 500ms, 2s or 1min, found 1.5s"
    )
    assert.strictEqual(
      problemOf("any order {", "← 1"),
      "line 1, column 1: expected a block that } ends, found the end of the transcript"
    )
    assert.strictEqual(
      problemOf("any order {", "  → 1", "}"),
      "line 2, column 3: expected ←, in order { or } in a block of any order, found → 1"
    )
    assert.strictEqual(
      problemOf("any order {", "in order {", "wait 1s", "}", "}"),
      "line 3, column 1: expected →, ← or } in a block that keeps its order, found wait 1s"
    )
    assert.include(problemOf("}") ?? "", "line 1, column 1: ")
    assert.include(problemOf("in order {", "}") ?? "", "line 1, column 1: ")
  })

  it("a name that one branch binds is known after the block, and not in other branches", () => {
    const block = ["any order {", "← $a", "in order {", "← $b", "→ [$b]", "}", "}"]
    assert.isUndefined(problemOf(...block, "→ [$a,$b]"))
    assert.include(problemOf("any order {", "← $a", "in order {", "→ $a", "}", "}") ?? "", "line 4, column 3")
  })

  describe("from a recording", () => {
    const received = (frame: unknown): Recording.Entry => ({ _tag: "Received", at: 0, frame })
    const sent = (frame: JsonRpc.Frame): Recording.Entry => ({ _tag: "Sent", at: 0, frame })

    const withQuestion = [
      sent(JsonRpc.request(1, "tools/call", { name: "ask", _meta: { progressToken: 1 } })),
      received(
        JsonRpc.request("q-17", "sampling/createMessage", { _meta: { progressToken: "t", traceparent: "00-ab" } })
      ),
      sent(JsonRpc.notification("notifications/progress", { progressToken: "t", progress: 1 })),
      received(JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1 })),
      sent(JsonRpc.success("q-17", { content: Content.text("1") })),
      received(JsonRpc.success(1, { content: [] })),
      received(JsonRpc.request("q-17", "ping", undefined)),
      received(JsonRpc.notification("notifications/cancelled", { requestId: "q-17" }))
    ]

    it("names the values that the peer chose, and keeps those of this side", () => {
      assert.deepStrictEqual(Transcript.print(Transcript.fromRecording(withQuestion)).trimEnd().split("\n"), [
        "→ {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\",\"_meta\":{\"progressToken\":1}}}",
        "← {\"jsonrpc\":\"2.0\",\"id\":$id1,\"method\":\"sampling/createMessage\",\"params\":{\"_meta\":{\"progressToken\":$token1,\"traceparent\":_}}}",
        "→ {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token1,\"progress\":1}}",
        "← {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}",
        "→ {\"jsonrpc\":\"2.0\",\"id\":$id1,\"result\":{\"content\":{\"type\":\"text\",\"text\":\"1\"}}}",
        "← {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}",
        "← {\"jsonrpc\":\"2.0\",\"id\":$id2,\"method\":\"ping\"}",
        "← {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":$id2}}"
      ])
    })

    it("can be that of the other side", () => {
      const peer = Transcript.print(Transcript.fromRecording(withQuestion, { side: "peer" })).trimEnd().split("\n")
      assert.strictEqual(
        peer[0],
        "← {\"jsonrpc\":\"2.0\",\"id\":$id1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\",\"_meta\":{\"progressToken\":$token1}}}"
      )
      assert.strictEqual(
        peer[3],
        "→ {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token1,\"progress\":1}}"
      )
      assert.strictEqual(peer[5], "→ {\"jsonrpc\":\"2.0\",\"id\":$id1,\"result\":{\"content\":[]}}")
    })

    it("names cursors and elicitations, and splits batches", () => {
      const text = Transcript.print(Transcript.fromRecording([
        received(JsonRpc.success(1, { tools: [], nextCursor: "x" })),
        sent(JsonRpc.request(2, "tools/list", { cursor: "x" })),
        received(JsonRpc.request(1, "elicitation/create", { mode: "url", elicitationId: "e" })),
        received(JsonRpc.notification("notifications/elicitation/complete", { elicitationId: "e" })),
        received([JsonRpc.request(5, "ping", undefined)]),
        sent([JsonRpc.success(5, {})])
      ]))
      assert.deepStrictEqual(text.trimEnd().split("\n"), [
        "← {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[],\"nextCursor\":$cursor1}}",
        "→ {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":$cursor1}}",
        "← {\"jsonrpc\":\"2.0\",\"id\":$id1,\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"elicitationId\":$elicitation1}}",
        "← {\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":$elicitation1}}",
        "← [{\"jsonrpc\":\"2.0\",\"id\":$id2,\"method\":\"ping\"}]",
        "→ [{\"jsonrpc\":\"2.0\",\"id\":$id2,\"result\":{}}]"
      ])
    })

    it("a frame that no transport can repeat becomes a comment", () => {
      const unreadable: Recording.Entry = { _tag: "Unreadable", at: 0, error: { _tag: "NotJson", text: "{" } }
      assert.deepStrictEqual(Transcript.fromRecording([unreadable]), [{ _tag: "ExpectUnreadable" }])
      const [comment] = Transcript.fromRecording([unreadable], { side: "peer" })
      assert.strictEqual(comment?._tag, "Comment")
      const [big] = Transcript.fromRecording([sent(JsonRpc.success(1, { big: 1n }))])
      assert.strictEqual(big?._tag, "Comment")
    })
  })
})
