/**
 * What the testing package draws for a revision, judged by the lists of members that the specification has of it.
 */
import { MethodDefinition, Revision } from "@effect-mcp/protocol"
import { ValidMessages } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import { unknownTo } from "./revisions.ts"

const roles: ReadonlyArray<MethodDefinition.Role> = ["client", "server"]
const sides = Revision.supported.flatMap((revision) => roles.map((from) => ({ from, revision })))
const runs = { arbitrary: { runs: 40 } }

describe.each(sides)("a valid message of a $from in $revision", ({ from, revision }) => {
  for (const name of ValidMessages.requestNames(from, revision)) {
    it.prop(`[INIT-12] [INIT-13] the params of ${name} hold nothing that came later`, [
      ValidMessages.request(name, revision)
    ], ([{ params }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "params", params ?? {}), [])
    }, runs)
  }

  for (const name of ValidMessages.notificationNames(from, revision)) {
    it.prop(`[INIT-12] [INIT-13] the params of ${name} hold nothing that came later`, [
      ValidMessages.notification(name, revision)
    ], ([{ params }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "params", params ?? {}), [])
    }, runs)
  }

  for (const name of ValidMessages.requestNames(MethodDefinition.peerOf(from), revision)) {
    it.prop(`[INIT-12] [INIT-13] the result of ${name} holds nothing that came later`, [
      ValidMessages.success(name, revision)
    ], ([{ result }]) => {
      assert.deepStrictEqual(unknownTo(revision, name, "result", result), [])
    }, runs)
  }
})
