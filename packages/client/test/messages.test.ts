/** The messages of errors: what happened, and what to do. */
import { GroupError, McpAnswers, ServerStatus, ServerUnavailableError, TypedCallError } from "@effect-mcp/client"
import { Content, McpError } from "@effect-mcp/protocol"
import { HandshakeError, RequestError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"

it("each error of a name and of a typed call says what to do", () => {
  const member = "the tool \"add\""
  assert.deepStrictEqual([
    new GroupError.NoSuchServerError({ server: "flies", servers: ["files", "mail"] }).message,
    new GroupError.NoSuchServerError({ server: "flies", servers: [] }).message,
    new GroupError.NoSuchNameError({ kind: "tool", name: "files__raed", missing: [] }).message,
    new GroupError.NoSuchNameError({ kind: "prompt", name: "paln", missing: ["files", "mail"] }).message,
    new TypedCallError.InvalidArgumentsError({ member, problem: "Expected an integer" }).message,
    new TypedCallError.UnexpectedResultError({ member, problem: "Expected number", result: {} }).message
  ], [
    "the group has no server \"flies\"; its servers are: files, mail",
    "the group has no server \"flies\"; it has no servers, so add this one first",
    "the group has no tool \"files__raed\"; use a name that it lists",
    "the group has no prompt \"paln\"; retry later, these servers are down or slow, and may have it: files, mail",
    "the arguments of the tool \"add\" were not sent; correct what does not fit its definition: Expected an integer",
    "the result of the tool \"add\" does not fit its definition; update it to that of the server: Expected number"
  ])
})

/** Text that controls a terminal, changes the direction of text, and is long. */
const hostile = `\u{1b}[2J\u{9b}31m\u{202e}exe\n${"a".repeat(2_000_000)}`

it("text of a server in an error or a status controls no terminal, and has a bounded length", () => {
  const error = new McpError.McpError({ code: 1, message: hostile })
  const rejected = HandshakeError.make({ _tag: "Rejected", error })
  const failed = RequestError.make("ping", { _tag: "ErrorResponse", error })
  const status = ServerStatus.describe
  const profile = { info: { name: hostile, version: hostile }, revision: "2025-11-25" }
  const down = (problem: ServerStatus.Problem, stderr: ReadonlyArray<string> = []) =>
    status({ _tag: "Down", problem, attempts: 1, retryMillis: undefined, stderr })
  const exit = { exitCode: 1, signal: undefined, stderr: Array.from({ length: 20 }, () => hostile) }
  const texts = [
    // The other members of a profile are not described.
    status({ _tag: "Ready", profile } as ServerStatus.ServerStatus),
    down({ _tag: "ConnectFailed", error: rejected }),
    down({ _tag: "Ended", reason: { _tag: "PeerEnded", exit } }, exit.stderr),
    down({ _tag: "HealthCheckFailed", error: failed }),
    down({ _tag: "TargetFailed", cause: hostile }, [hostile]),
    new ServerUnavailableError.ServerUnavailableError({
      server: "files",
      status: {
        _tag: "Down",
        problem: { _tag: "TargetFailed", cause: new Error(hostile) },
        attempts: 1,
        retryMillis: 1,
        stderr: []
      },
      waitedMillis: 1
    }).message,
    new McpAnswers.InvalidAnswerError({
      server: "files",
      problems: Array.from({ length: 50_000 }, () => ({ field: "\u{9b}", problem: hostile }))
    }).message,
    new GroupError.NoSuchServerError({ server: hostile, servers: [hostile] }).message,
    new GroupError.NoSuchNameError({ kind: "tool", name: hostile, missing: [hostile] }).message,
    new GroupError.DuplicateServerError({ server: hostile }).message,
    new TypedCallError.InvalidArgumentsError({ member: "the tool", problem: hostile }).message,
    new TypedCallError.UnexpectedResultError({ member: "the tool", problem: hostile, result: {} }).message,
    new TypedCallError.ToolFailedError({ tool: hostile, result: { content: [Content.text(hostile)] } }).message
  ]
  for (const text of texts) {
    assert.isBelow(text.length, 4_500)
    assert.match(text, /(?:\\u\{9b\}|\\u009b)/)
    assert.notMatch(text, /[\u{1b}\u{9b}\u{202e}]/u)
  }
  assert.isBelow(rejected.message.length, 1_100)
  assert.isBelow(failed.message.length, 8_300)
})
