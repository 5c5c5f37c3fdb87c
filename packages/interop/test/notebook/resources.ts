import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { all, call, notificationsOf, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members, receivedSince } from "./results.ts"

export const resources = ({ it, peer }: Conditions) => {
  it.effect("[RES-01] [PAG-03] lists its resources, page by page", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      const before = received.length
      const resources = yield* all(request.listResources, "resources")
      const names = resources.map(({ name }) => name)
      assert.includeMembers(names, ["colours", "groceries", "letter", "plan", "reading", "weather", "cover"])
      // In the order of their URIs: the cover is at notebook:///, after note:///.
      assert.deepStrictEqual(names, [...names.filter((name) => name !== "cover").toSorted(), "cover"])
      assert.strictEqual(receivedSince(received, before).length, Math.ceil(names.length / 3))
      const { icons, ...colours } = members(resources[0])
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

  it.effect("lists its template", () =>
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

  it.effect("rejects an unknown resource with an error that names it", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      for (const send of [request.readResource, request.subscribeResource]) {
        for (const uri of ["note:///nothing", "note:///%", "file:///etc/passwd", ""]) {
          const failure = yield* Effect.flip(send({ uri }))
          assert(failure._tag === "ErrorResponse", failure.message)
          assert.strictEqual(failure.message, peer.errorMessage(-32002, `Resource not found: ${uri}`))
          // One of these clients replaces the code with that of a later revision.
          assert.deepStrictEqual(receivedSince(received, 0).at(-1)?.["error"], {
            code: -32002,
            message: `Resource not found: ${uri}`,
            data: { uri }
          })
        }
      }
    }))

  it.effect("sends updates of a resource while the client is subscribed", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const { request } = client
      const uri = "note:///weather%20report"
      const updates = () => notificationsOf(client, "notifications/resources/updated")
      const lists = () => notificationsOf(client, "notifications/resources/list_changed").length
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
      // Notifications are sent in order: an update of the first note would arrive before this list_changed.
      const listsBefore = lists()
      yield* write("weather warning", "Ice.")
      yield* Child.until(() => lists() > listsBefore)
      assert.strictEqual(updates().length, before + 1)
    }))

  it.effect("[RES-02] sends list_changed for a new resource, and lists it", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const lists = () => notificationsOf(client, "notifications/resources/list_changed").length
      const listsBefore = lists()
      yield* call("write", { name: "zebra", text: "Black and white." })
      yield* Child.until(() => lists() > listsBefore)
      const resources = yield* all(client.request.listResources, "resources")
      assert.include(resources.map(({ name }) => name), "zebra")
    }))
}
