/** The notes of several users, in a database file, over HTTP (`notes.ts`). */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, type RequestError } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import * as Child from "./fixtures/child.ts"

/** A folder that is removed when the scope closes. */
const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(tmpdir(), "notes-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

const notes = await joinedProgram(Child.file("../../src/notes.ts"))

/** Starts the server with this database. Returns its process and its URL. */
const start = Effect.fnUntraced(function*(database: string) {
  const program = yield* Child.program(process.execPath, [notes, "0", database])
  yield* Child.until(() => /listening at \S+\n/.test(program.stdout()))
  const [, url = ""] = /listening at (\S+)\n/.exec(program.stdout()) ?? []
  return { program, url }
})

/** Connects a client with a token, and records the URIs of the resources that it is notified of. */
const connect = Effect.fnUntraced(function*(url: string, token: string) {
  const updates = yield* Queue.unbounded<string>()
  const session = ClientSession.layer({
    info: { name: "reader", version: "1.0.0" },
    revisions: Revision.legacy,
    handlers: { "notifications/resources/updated": ({ uri }) => Effect.asVoid(Queue.offer(updates, uri)) }
  })
  const transport = StreamableHttpClient.layerNode({
    url,
    headers: { authorization: Redacted.make(`Bearer ${token}`) }
  })
  const context = yield* Layer.build(Layer.provide(session, transport))
  return { ...Context.get(context, ClientSession.ClientSession), updates }
})

const withUsers = Effect.gen(function*() {
  const { url } = yield* start(":memory:")
  return { url, ada: yield* connect(url, "adas-secret"), bob: yield* connect(url, "bobs-secret") }
})

/** Returns the code and the message of a request that the server rejects. */
const rejected = <A, R>(request: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(
    Effect.flip(request),
    ({ reason }) => reason._tag === "ErrorResponse" ? [reason.error.code, reason.error.message] : reason
  )

const uri = "notes://ada/garden%20plan"

describe("notes.ts", () => {
  it.live("a client without a known token is rejected", () =>
    Effect.gen(function*() {
      const { url } = yield* start(":memory:")
      assert.include((yield* Effect.flip(connect(url, "no-secret"))).message, "error=\"invalid_token\"")
    }).pipe(Effect.scoped))

  it.live("the notes of a user are invisible to others", () =>
    Effect.gen(function*() {
      const { ada, bob } = yield* withUsers
      const created = yield* ada.callTool("create_note", { title: "garden plan", text: "Dig." })
      assert.deepStrictEqual(created.structuredContent, { uri })
      const { contents } = yield* ada.readResource(uri)
      assert.deepStrictEqual(contents, [{ uri, mimeType: "text/markdown", text: "Dig." }])
      const search = { words: "DIG" }
      assert.deepStrictEqual((yield* ada.callTool("search_notes", search)).structuredContent, {
        titles: ["garden plan"]
      })

      assert.deepStrictEqual((yield* bob.callTool("search_notes", search)).structuredContent, { titles: [] })
      assert.deepStrictEqual(yield* rejected(bob.readResource(uri)), [-32002, `Resource not found: ${uri}`])
      assert.deepStrictEqual(yield* rejected(bob.getPrompt("review", { title: "garden plan" })), [
        -32602,
        "There is no note \"garden plan\"; search_notes has the titles"
      ])
      for (const tool of ["edit_note", "delete_note"]) {
        assert.isTrue((yield* bob.callTool(tool, { title: "garden plan", text: "Burn." })).isError)
      }
      // Another user may use the same title.
      assert.notStrictEqual((yield* bob.callTool("create_note", { title: "garden plan", text: "Rest." })).isError, true)
      assert.deepStrictEqual((yield* ada.readResource(uri)).contents, contents)
      assert.deepStrictEqual(yield* rejected(bob.readResource(uri)), [-32002, `Resource not found: ${uri}`])
    }).pipe(Effect.scoped))

  it.live("failures have a message for the model, and a form for typed clients", () =>
    Effect.gen(function*() {
      const { ada } = yield* withUsers
      yield* ada.callTool("create_note", { title: "plan", text: "" })
      const taken = yield* ada.callTool("create_note", { title: "plan", text: "" })
      assert.deepStrictEqual(taken, {
        isError: true,
        content: [{
          type: "text",
          text: "There is a note \"plan\" already; change it with edit_note, or choose another title"
        }],
        _meta: { "effect-mcp/failure": { _tag: "TitleTaken", title: "plan" } }
      })
      const missing = yield* ada.callTool("delete_note", { title: "plot" })
      assert.deepStrictEqual(missing._meta, { "effect-mcp/failure": { _tag: "NoSuchNote", title: "plot" } })
      assert.isTrue((yield* ada.callTool("create_note", { title: "", text: "" })).isError)
    }).pipe(Effect.scoped))

  it.live("a change is sent to the sessions of the owner that subscribed, and no other user can subscribe", () =>
    Effect.gen(function*() {
      const { ada, bob, url } = yield* withUsers
      const other = yield* connect(url, "adas-secret")
      yield* ada.callTool("create_note", { title: "garden plan", text: "Dig." })
      yield* ada.subscribeResource(uri)
      assert.deepStrictEqual(yield* rejected(bob.subscribeResource(uri)), [-32002, `Resource not found: ${uri}`])
      yield* other.callTool("edit_note", { title: "garden plan", text: "Sow." })
      assert.strictEqual(yield* Queue.take(ada.updates), uri)
      assert.deepStrictEqual((yield* ada.readResource(uri)).contents, [{
        uri,
        mimeType: "text/markdown",
        text: "Sow."
      }])
      yield* other.callTool("delete_note", { title: "garden plan" })
      assert.strictEqual(yield* Queue.take(ada.updates), uri)
      for (const client of [ada, bob, other]) {
        yield* client.ping()
        assert.strictEqual(yield* Queue.size(client.updates), 0)
      }
    }).pipe(Effect.scoped))

  it.live("completes the titles of the user's own notes, for the template and the prompt", () =>
    Effect.gen(function*() {
      const { ada, bob } = yield* withUsers
      for (const title of ["plan", "plot", "seeds"]) yield* ada.callTool("create_note", { title, text: "" })
      const template = { type: "ref/resource", uri: "notes://{owner}/{title}" } as const
      const prompt = { type: "ref/prompt", name: "review" } as const
      for (const ref of [template, prompt]) {
        const params = { ref, argument: { name: "title", value: "pl" } }
        assert.deepStrictEqual((yield* ada.complete(params)).completion.values, ["plan", "plot"])
        assert.deepStrictEqual((yield* bob.complete(params)).completion.values, [])
      }
      const owner = { ref: template, argument: { name: "owner", value: "" } }
      assert.deepStrictEqual((yield* bob.complete(owner)).completion.values, ["bob"])
      const focus = { ref: prompt, argument: { name: "focus", value: "f" } }
      assert.deepStrictEqual((yield* ada.complete(focus)).completion.values, ["facts"])
    }).pipe(Effect.scoped))

  it.live("the prompt contains the note", () =>
    Effect.gen(function*() {
      const { ada } = yield* withUsers
      yield* ada.callTool("create_note", { title: "garden plan", text: "Dig." })
      const { messages } = yield* ada.getPrompt("review", { title: "garden plan", focus: "gaps" })
      assert.deepStrictEqual(messages, [
        { role: "user", content: { type: "text", text: "Review this note, above all its gaps." } },
        {
          role: "user",
          content: { type: "resource", resource: { uri, mimeType: "text/markdown", text: "Dig." } }
        }
      ])
    }).pipe(Effect.scoped))

  it.live("keeps the notes in its file when the process ends", () =>
    Effect.gen(function*() {
      const database = path.join(yield* folder, "notes.sqlite")
      for (const text of ["written", "read"]) {
        const { program, url } = yield* start(database)
        yield* Effect.scoped(Effect.gen(function*() {
          const ada = yield* connect(url, "adas-secret")
          if (text === "written") yield* ada.callTool("create_note", { title: "garden plan", text })
          const { contents } = yield* ada.readResource(uri)
          assert.deepStrictEqual(contents, [{ uri, mimeType: "text/markdown", text: "written" }])
        }))
        program.kill("SIGTERM")
        yield* program.exited
      }
    }).pipe(Effect.scoped))
})
