/** The messages of errors: what happened, and what to do. */
import { GroupError, TypedCallError } from "@effect-mcp/client"
import { assert, it } from "@effect/vitest"

it("each error of a name and of a typed call says what to do", () => {
  const member = "the tool \"add\""
  assert.deepStrictEqual([
    new GroupError.NoSuchServer({ server: "flies", servers: ["files", "mail"] }).message,
    new GroupError.NoSuchServer({ server: "flies", servers: [] }).message,
    new GroupError.NoSuchName({ kind: "tool", name: "files__raed", missing: [] }).message,
    new GroupError.NoSuchName({ kind: "prompt", name: "paln", missing: ["files", "mail"] }).message,
    new TypedCallError.InvalidArguments({ member, problem: "Expected an integer" }).message,
    new TypedCallError.UnexpectedResult({ member, problem: "Expected number", result: {} }).message
  ], [
    "the group has no server \"flies\"; its servers are: files, mail",
    "the group has no server \"flies\"; it has no servers, so add this one first",
    "the group has no tool \"files__raed\"; use a name that it lists",
    "the group has no prompt \"paln\"; retry later, these servers are down or slow, and may have it: files, mail",
    "the arguments of the tool \"add\" were not sent; correct what does not fit its definition: Expected an integer",
    "the result of the tool \"add\" does not fit its definition; update it to that of the server: Expected number"
  ])
})
