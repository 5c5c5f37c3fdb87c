/**
 * Checks that the messages that the testing package generates for a revision have only members of that revision.
 */
import { MethodDefinition, Revision } from "@effect-mcp/protocol"
import { ValidMessages } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import { unknownTo } from "./revisions.ts"

const roles: ReadonlyArray<MethodDefinition.Role> = ["client", "server"]
const sides = Revision.legacy.flatMap((revision) => roles.map((from) => ({ from, revision })))
const runs = { arbitrary: { runs: 40 } }

describe.each(sides)("a valid message of a $from in $revision", ({ from, revision }) => {
  for (const name of ValidMessages.requestNames(from, revision)) {
    it.prop(`the params of ${name} have no member of a later revision`, [
      ValidMessages.request(name, revision)
    ], ([{ params }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "params", params ?? {}), [])
    }, runs)
  }

  for (const name of ValidMessages.notificationNames(from, revision)) {
    it.prop(`the params of ${name} have no member of a later revision`, [
      ValidMessages.notification(name, revision)
    ], ([{ params }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "params", params ?? {}), [])
    }, runs)
  }

  for (const name of ValidMessages.requestNames(MethodDefinition.peerOf(from), revision)) {
    it.prop(`the result of ${name} has no member of a later revision`, [
      ValidMessages.success(name, revision)
    ], ([{ result }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "result", result), [])
    }, runs)
  }
})
