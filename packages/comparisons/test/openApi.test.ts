/** Program h: a server over stdio of the operations that an OpenAPI document describes. */
import { type Content, Revision, type Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { text } from "node:stream/consumers"
import * as Child from "./fixtures/child.ts"
import { compare } from "./fixtures/comparison.ts"

const noteSchema = {
  type: "object",
  properties: { id: { type: "integer" }, title: { type: "string" } },
  required: ["id", "title"]
}

const answer = (description: string) => ({
  200: { description, content: { "application/json": { schema: noteSchema } } }
})

const documentOf = (url: string) => ({
  openapi: "3.1.0",
  info: { title: "notes", version: "1.0.0" },
  servers: [{ url }],
  paths: {
    "/notes/{id}": {
      get: {
        operationId: "read_note",
        summary: "Reads a note",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "integer" } },
          { name: "language", in: "query", schema: { type: "string" } }
        ],
        responses: answer("The note")
      }
    },
    "/notes": {
      post: {
        operationId: "create_note",
        summary: "Creates a note",
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] }
            }
          }
        },
        responses: answer("The new note")
      }
    }
  }
})

/** A request that the API has received. */
interface Received {
  readonly method: string
  readonly url: string
  readonly body: string
}

/** The requests that the API has received. */
class Requests extends Context.Service<Requests, ReadonlyArray<Received>>()("test/Requests") {}

/** An API of notes, and the file of its document. */
const api = Effect.acquireRelease(
  Effect.promise(async () => {
    const received: Array<Received> = []
    const server = http.createServer((request, response) => {
      const { method = "", url = "" } = request
      void text(request).then((body) => {
        received.push({ method, url, body })
        const [status, value] = url.startsWith("/notes/9")
          ? [404, { message: "There is no note 9" }]
          : [200, { id: 1, title: "bees" }]
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
      })
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    const folder = fs.mkdtempSync(path.join(tmpdir(), "openapi-"))
    const file = path.join(folder, "openapi.json")
    fs.writeFileSync(file, JSON.stringify(documentOf(`http://127.0.0.1:${port}`)))
    return { received, server, folder, file }
  }),
  ({ folder, server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
      fs.rmSync(folder, { recursive: true })
    })
)

const start = (file: string) =>
  Layer.unwrap(
    Effect.map(api, ({ file: document, received }) =>
      ClientSession.layer({ info: { name: "comparison", version: "1.0.0" }, revisions: Revision.legacy }).pipe(
        Layer.provide(StdioClient.layerNode({
          command: process.execPath,
          args: [file, document],
          env: Child.environment
        })),
        Layer.merge(Layer.succeed(Requests, received))
      ))
  )

const check = <E>(
  body: (
    session: ClientSession.ClientSessionShape,
    received: Requests["Service"]
  ) => Effect.Effect<void, E>
) =>
  Effect.gen(function*() {
    yield* body(yield* ClientSession.ClientSession, yield* Requests)
  })

const textIn = ({ content }: Tool.CallToolResult) =>
  content.map((block: Content.ContentBlock) => block.type === "text" ? block.text : block.type).join("")

compare({
  program: "h",
  start,
  behaviours: {
    "each operation is a tool, with its parameters and the fields of its body": check(Effect.fnUntraced(
      function*({ listTools }) {
        const { tools } = yield* listTools()
        assert.sameMembers(tools.map(({ name }) => name), ["read_note", "create_note"])
        const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema
        assert.sameMembers(Object.keys(schemaOf("read_note")?.["properties"] ?? {}), ["id", "language"])
        assert.deepStrictEqual(schemaOf("read_note")?.["required"], ["id"])
        assert.sameMembers(Object.keys(schemaOf("create_note")?.["properties"] ?? {}), ["title"])
      }
    )),
    "a call is a request with its path, its query and its body": check(Effect.fnUntraced(
      function*({ callTool }, received) {
        const read = yield* callTool("read_note", { id: 1, language: "no" })
        assert.include(textIn(read), "bees")
        yield* callTool("create_note", { title: "bees" })
        const [get, post] = received.slice(-2)
        assert.deepStrictEqual([get?.method, get?.url], ["GET", "/notes/1?language=no"])
        assert.deepStrictEqual([post?.method, JSON.parse(post?.body ?? "")], ["POST", { title: "bees" }])
      }
    )),
    "a status of a failure is an error for the model": check(Effect.fnUntraced(
      function*({ callTool }) {
        const result = yield* callTool("read_note", { id: 9 })
        assert.isTrue(result.isError)
        assert.include(textIn(result), "There is no note 9")
      }
    ))
  },
  deviations: {}
})
