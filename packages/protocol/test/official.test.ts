/**
 * What this library generates, judged by the validators of both official packages.
 */
import { Elicitation, JsonRpc, McpError, Task } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { assertAccepted, assertRefused, assertTaken, strictly } from "./official.ts"
import { problemIn } from "./officialSchemas.ts"
import { notificationParts, requestParts } from "./table.ts"
import { isMembers, overTheWire } from "./wire.ts"

const Id = Schema.Union([Schema.String, Schema.Int])
const runs = { arbitrary: { runs: 60 } }

const members = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

describe.each(requestParts)("$label", ({ codec, method, part }) => {
  it.prop(
    "[MSG-01] [MSG-03] [MSG-07] [MSG-08] both official packages take it",
    [Id, strictly(codec)],
    ([id, value]) => {
      if (part === "params") assertTaken("request", overTheWire(JsonRpc.request(id, method, members(value))))
      else assertTaken("success", overTheWire(JsonRpc.success(id, value)))
      assertAccepted(method, part, value)
    },
    runs
  )
})

describe.each(notificationParts)("$label", ({ codec, method, part }) => {
  it.prop("[MSG-01] [MSG-11] both official packages take it", [strictly(codec)], ([value]) => {
    assertTaken("notification", overTheWire(JsonRpc.notification(method, members(value))))
    assertAccepted(method, part, value)
  }, runs)
})

it.prop("both official packages take the answer to a request that became a task", [
  strictly(Task.CreateTaskResult)
], ([value]) => {
  assertTaken("createdTask", value)
}, runs)

it.prop("[ELI-14] both official packages take the pages that an error asks to be visited", [
  strictly(Elicitation.UrlParams)
], ([value]) => {
  assertTaken("pageRequired", value)
}, runs)

it.prop("[MSG-08] [MSG-09] [MSG-10] both official packages take an error, with an id or without one", {
  id: Schema.Union([Schema.String, Schema.Int, Schema.Undefined]),
  code: Schema.Int,
  message: Schema.String,
  data: Schema.Unknown
}, ({ code, data, id, message }) => {
  const failure = JsonRpc.failure(id, new McpError.McpError({ code, message, data }))
  assertTaken("failure", overTheWire(failure))
}, runs)

it("the schemas of the specification judge: what a revision rejects is rejected", () => {
  const sound = { content: [{ type: "audio", data: "", mimeType: "audio/wav" }] }
  assert.isDefined(problemIn("2024-11-05", "tools/call", "result", sound))
  assert.isUndefined(problemIn("2025-03-26", "tools/call", "result", sound))
  assert.isDefined(problemIn("2025-11-25", "initialize", "params", {}))
  assert.isDefined(problemIn("2025-06-18", "tasks/get", "params", { taskId: "1" }))
})

it("the validators judge: what is wrong is refused", () => {
  assertRefused("initialize", "params", {})
  assertRefused("tools/call", "result", { content: [{ type: "image", data: "%", mimeType: "" }] })
  assertRefused("notifications/message", "params", undefined)
  assertRefused("tasks/get", "result", { taskId: "1" })
  assert.throws(() => assertAccepted("acme/echo", "params", {}))
})
