import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { all, call, heardOf, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members } from "./results.ts"

export const resources = ({ it, peer }: Conditions) => {
  it.effect("[RES-01] [PAG-03] [INIT-13] lists its resources, page by page", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      const before = received.length
      const resources = yield* all(request.listResources, "resources")
      const names = resources.map(({ name }) => name)
      assert.deepStrictEqual(names.slice(0, 3), ["cover", "colours", "groceries"])
      assert.includeMembers(names, ["letter", "plan", "reading", "weather"])
      assert.strictEqual(received.length - before, Math.ceil(names.length / 3))
      const { icons, ...colours } = members(resources[1])
      assert.deepStrictEqual(
        colours,
        {
          uri: "note:///colours",
          name: "colours",
          title: "The note “colours”",
          description: "Red, green and blue.",
          mimeType: "text/markdown",
          size: 20,
          annotations: {
            audience: ["user", "assistant"],
            priority: 0.5,
            lastModified: "2025-11-25T00:00:00Z"
          },
          _meta: { "example.com/letters": 20 }
        }
      )
      assert.isDefined(icons)
    }))

  it.effect("[INIT-13] lists its template", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const [template, ...rest] = yield* all(request.listResourceTemplates, "resourceTemplates")
      assert.deepStrictEqual(rest, [])
      const { icons, ...described } = members(template)
      assert.deepStrictEqual(
        described,
        {
          uriTemplate: "note:///{name}",
          name: "note",
          title: "A note",
          description: "A note by its name",
          mimeType: "text/markdown",
          annotations: { audience: ["user"], priority: 1 },
          _meta: { "example.com/writable": true }
        }
      )
      assert.isDefined(icons)
    }))

  it.effect("reads text and bytes, metadata included", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const note = yield* request.readResource({ uri: "note:///groceries" })
      assert.deepStrictEqual(note["_meta"], { "example.com/from": "notebook" })
      assert.deepStrictEqual(note["contents"], [
        {
          uri: "note:///groceries",
          mimeType: "text/markdown",
          text: "Bread, milk, coffee; the blue cheese if they have it.",
          _meta: { "example.com/lastModified": "2025-11-25T00:00:00Z" }
        }
      ])
      const cover = yield* request.readResource({ uri: "notebook:///cover.png" })
      const [{ blob, ...rest } = {}] = list(cover["contents"])
      assert.deepStrictEqual(rest, { uri: "notebook:///cover.png", mimeType: "image/png" })
      assert.match(Buffer.from(String(blob), "base64").toString("latin1"), /^\u0089PNG/)
    }))

  it.effect("says that there is no such resource, and which", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      for (const ask of [request.readResource, request.subscribeResource]) {
        for (const uri of ["note:///nothing", "note:///%", "file:///etc/passwd", ""]) {
          const failure = yield* Effect.flip(ask({ uri }))
          assert(failure._tag === "Refused", failure.message)
          assert.strictEqual(failure.message, peer.worded(-32002, `Resource not found: ${uri}`))
          // One of these clients makes another code of it, that of a later revision.
          assert.deepStrictEqual(members(received.at(-1))["error"], {
            code: -32002,
            message: `Resource not found: ${uri}`,
            data: { uri }
          })
        }
      }
    }))

  it.effect("says that a resource has changed to those who subscribed, for as long as they do", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const { request } = client
      const uri = "note:///weather%20report"
      const updates = () => heardOf(client, "notifications/resources/updated")
      const lists = () => heardOf(client, "notifications/resources/list_changed").length
      const write = (name: string, text: string) => call("write", { name, text })
      const before = updates().length
      yield* write("weather report", "Fog.")
      yield* request.subscribeResource({ uri })
      yield* write("weather report", "Rain.")
      yield* Child.until(() => updates().length > before)
      assert.deepStrictEqual(updates().slice(before), [{ uri }])
      const report = yield* request.readResource({ uri })
      assert.strictEqual(list(report["contents"])[0]?.["text"], "Rain.")
      yield* request.unsubscribeResource({ uri })
      yield* write("weather report", "Snow.")
      // What is told of the one note is told before what is told of the other.
      const told = lists()
      yield* write("weather warning", "Ice.")
      yield* Child.until(() => lists() > told)
      assert.strictEqual(updates().length, before + 1)
    }))

  it.effect("[RES-02] says that there are more resources, and then there are", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const lists = () => heardOf(client, "notifications/resources/list_changed").length
      const told = lists()
      yield* call("write", { name: "zebra", text: "Black and white." })
      yield* Child.until(() => lists() > told)
      const resources = yield* all(client.request.listResources, "resources")
      assert.strictEqual(resources.at(-1)?.["name"], "zebra")
    }))
}
