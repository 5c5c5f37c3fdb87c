import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { all, call, notificationsOf, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, members, receivedSince } from "./results.ts"

const messages = Effect.fnUntraced(function*(name: string, args: { readonly [argument: string]: string }) {
  const { request } = yield* OfficialClient
  const prompt = yield* request.getPrompt({ name, arguments: args })
  return list(prompt["messages"])
})

const kinds = (found: ReturnType<typeof list>) => found.map(({ content }) => members(content)["type"])

export const prompts = ({ it, peer, revision }: Conditions) => {
  const errorOf = (name: string, args: { readonly [argument: string]: string }) =>
    Effect.map(Effect.flip(messages(name, args)), (failure) => {
      assert(failure._tag === "ErrorResponse", failure.message)
      return { code: failure.code, message: failure.message }
    })
  const invalid = (message: string) => ({ code: -32602, message: peer.errorMessage(-32602, message) })

  it.effect("[PRM-01] [PAG-03] lists its prompts, page by page", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      const before = received.length
      const prompts = yield* all(request.listPrompts, "prompts")
      assert.deepStrictEqual(prompts.map(({ name }) => name), ["compare", "illustrate", "letter", "summarize"])
      // Three prompts per page.
      assert.strictEqual(receivedSince(received, before).length, 2)
      const { arguments: inputs, icons, ...summarize } = members(prompts[3])
      assert.deepStrictEqual(
        summarize,
        {
          name: "summarize",
          title: "Summarize a note",
          description: "Asks for a summary, and contains the note",
          _meta: { "example.com/styles": 3 }
        }
      )
      assert.isDefined(icons)
      assert.deepStrictEqual(list(inputs), [
        { name: "note", description: "The note to summarize", required: true },
        { name: "style", description: "The style, such as “briefly”", required: false }
      ])
    }))

  it.effect("[PRM-01] sends the title of an argument, which these clients drop", () =>
    Effect.gen(function*() {
      const { received, request } = yield* OfficialClient
      yield* request.listPrompts({})
      const page = received.map(members).findLast(({ result }) => JSON.stringify(result)?.includes("summarize"))
      const [summarize] = list(members(page?.["result"])["prompts"])
      assert.deepStrictEqual(
        list(summarize?.["arguments"]).map(({ title }) => title),
        ["Note", "Style"]
      )
    }))

  it.effect("rejects an unknown cursor", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const failure = yield* Effect.flip(request.listPrompts({ cursor: "4" }))
      assert.deepInclude(
        failure,
        invalid("prompts/list: the cursor is none of this list; begin again without a cursor")
      )
    }))

  it.effect("returns a prompt with arguments, an embedded resource and metadata", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const prompt = yield* request.getPrompt({ name: "summarize", arguments: { note: "plan", style: "as a haiku" } })
      assert.strictEqual(prompt["description"], "A summary of the note “plan”")
      assert.deepStrictEqual(prompt["_meta"], { "example.com/from": "notebook" })
      const [instruction, embedded] = list(prompt["messages"])
      assert.deepStrictEqual(instruction, {
        role: "user",
        content: { type: "text", text: "Summarize this note as a haiku." }
      })
      const content = members(members(embedded)["content"])
      assert.deepInclude(content, { type: "resource", annotations: { audience: ["assistant"] } })
      assert.deepInclude(content["resource"], {
        uri: "note:///plan",
        mimeType: "text/markdown",
        text: "Read more, write less, walk by the sea."
      })
    }))

  it.effect("images, audio and links in prompts have the form of the revision", () =>
    Effect.gen(function*() {
      const illustrate = yield* messages("illustrate", { note: "plan" })
      assert.deepStrictEqual(illustrate.map(({ role }) => role), ["user", "user", "user", "assistant"])
      assert.deepStrictEqual(kinds(illustrate), ["text", "image", revision === "2024-11-05" ? "text" : "audio", "text"])
      const compare = yield* messages("compare", { first: "plan", second: "colours" })
      const link = Revision.isAtLeast(revision, "2025-06-18") ? "resource_link" : "text"
      assert.deepStrictEqual(kinds(compare), ["text", link, link])
    }))

  it.effect("rejects an unknown prompt, a missing argument and an invalid argument", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* errorOf("burn", {}), invalid("Unknown prompt: burn"))
      assert.deepStrictEqual(
        yield* errorOf("compare", { first: "plan" }),
        invalid("Invalid arguments for the prompt \"compare\": second: Missing key")
      )
      assert.deepStrictEqual(
        yield* errorOf("illustrate", { note: "nothing" }),
        invalid("There is no note “nothing”")
      )
    }))

  it.effect("[PRM-02] sends list_changed for a new prompt, and lists it", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const changes = () => notificationsOf(client, "notifications/prompts/list_changed").length
      const before = changes()
      yield* call("write", { name: "invitation", text: "Come to {place} at {time}, says {host}." })
      yield* Child.until(() => changes() > before)
      const prompts = yield* all(client.request.listPrompts, "prompts")
      assert.include(prompts.map(({ name }) => name), "invitation")
      const [invitation] = yield* messages("invitation", { place: "the sea", time: "noon", host: "Ada {x}" })
      assert.deepStrictEqual(invitation?.["content"], {
        type: "text",
        text: "Come to the sea at noon, says Ada {x}."
      })
    }))
}
