/**
 * Checks generated values against the validators of both official packages.
 */
import { Elicitation, JsonRpc, McpError, RevisionProjection, Task } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { assertAccepted, assertEnvelope, assertRejected, strictly } from "./official.ts"
import { problemIn } from "./officialSchemas.ts"
import { notificationParts, requestParts } from "./table.ts"
import { isMembers, overTheWire } from "./wire.ts"

const Id = Schema.Union([Schema.String, Schema.Int])
const runs = { arbitrary: { runs: 60 } }

const members = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

describe.each(requestParts)("$label", ({ codec, method, part }) => {
  it.prop(
    "[MSG-01] both official packages accept it",
    [Id, strictly(codec)],
    ([id, generated]) => {
      // The packages have the form of 2025-11-25, in which the output of a tool is an object.
      const value = RevisionProjection.project(method, part, "2025-11-25", generated)
      if (part === "params") assertEnvelope("request", overTheWire(JsonRpc.request(id, method, members(value))))
      else assertEnvelope("success", overTheWire(JsonRpc.success(id, value)))
      assertAccepted(method, part, value)
    },
    runs
  )
})

describe.each(notificationParts)("$label", ({ codec, method, part }) => {
  it.prop("[MSG-01] [MSG-11] both official packages accept it", [strictly(codec)], ([value]) => {
    assertEnvelope("notification", overTheWire(JsonRpc.notification(method, members(value))))
    assertAccepted(method, part, value)
  }, runs)
})

it.prop("both official packages accept the result of a request that became a task", [
  strictly(Task.CreateTaskResult)
], ([value]) => {
  assertEnvelope("createdTask", value)
}, runs)

it.prop("[ELI-14] both official packages accept the URL elicitations of an error", [
  strictly(Elicitation.UrlParams)
], ([value]) => {
  assertEnvelope("urlElicitation", value)
}, runs)

it.prop("[MSG-08] [MSG-09] [MSG-10] both official packages accept an error with or without an id", {
  id: Schema.Union([Schema.String, Schema.Int, Schema.Undefined]),
  code: Schema.Int,
  message: Schema.String,
  data: Schema.Unknown
}, ({ code, data, id, message }) => {
  const failure = JsonRpc.failure(id, new McpError.McpError({ code, message, data }))
  assertEnvelope("failure", overTheWire(failure))
}, runs)

it("the schemas of the specification reject values that are invalid in a revision", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "audio/wav" }] }
  assert.isDefined(problemIn("2024-11-05", "tools/call", "result", result))
  assert.isUndefined(problemIn("2025-03-26", "tools/call", "result", result))
  assert.isDefined(problemIn("2025-11-25", "initialize", "params", {}))
  assert.isDefined(problemIn("2025-06-18", "tasks/get", "params", { taskId: "1" }))
})

it("the official validators reject invalid values", () => {
  assertRejected("initialize", "params", {})
  assertRejected("tools/call", "result", { content: [{ type: "image", data: "%", mimeType: "" }] })
  assertRejected("notifications/message", "params", undefined)
  assertRejected("tasks/get", "result", { taskId: "1" })
  assert.throws(() => assertAccepted("acme/echo", "params", {}))
})
