/** A stdio server of the operations in an OpenAPI document, written with Effect MCP. */
import { Content, McpError } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import { StdioServer } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"

const JsonSchema = Schema.Record(Schema.String, Schema.Unknown)
const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literals(["path", "query"]),
  required: Schema.optionalKey(Schema.Boolean),
  schema: JsonSchema
})
const ObjectSchema = Schema.Struct({
  properties: JsonSchema,
  required: Schema.optionalKey(Schema.Array(Schema.String))
})
const Body = Schema.Struct({ content: Schema.Struct({ "application/json": Schema.Struct({ schema: ObjectSchema }) }) })
const Operation = Schema.Struct({
  operationId: Schema.String,
  summary: Schema.optionalKey(Schema.String),
  parameters: Schema.optionalKey(Schema.Array(Parameter)),
  requestBody: Schema.optionalKey(Body)
})
const Methods = Schema.Struct({ get: Schema.optionalKey(Operation), post: Schema.optionalKey(Operation) })
const Document = Schema.Struct({
  servers: Schema.NonEmptyArray(Schema.Struct({ url: Schema.String })),
  paths: Schema.Record(Schema.String, Methods)
})

const program = Effect.gen(function*() {
  const client = yield* HttpClient.HttpClient
  const text = fs.readFileSync(process.argv[2] ?? "openapi.json", "utf8")
  const { paths, servers: [{ url }] } = yield* Schema.decodeEffect(Schema.fromJsonString(Document))(text)
  const operations = Object.entries(paths).flatMap(([path, { get, post }]) => [
    ...(get === undefined ? [] : [{ ...get, path, request: HttpClientRequest.get }]),
    ...(post === undefined ? [] : [{ ...post, path, request: HttpClientRequest.post }])
  ])
  const tools = operations.map(({ operationId, parameters = [], requestBody, summary = operationId }) => {
    const body = requestBody?.content["application/json"].schema
    const fields = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
    const required = parameters.filter(({ required }) => required).map(({ name }) => name)
    return {
      name: operationId,
      description: summary,
      inputSchema: {
        type: "object",
        properties: { ...fields, ...body?.properties },
        required: [...required, ...body?.required ?? []]
      }
    } as const
  })
  return yield* ServerSession.serve({
    "tools/list": () => Effect.succeed({ tools }),
    "tools/call": Effect.fnUntraced(function*({ arguments: input = {}, name }) {
      const operation = operations.find(({ operationId }) => operationId === name)
      if (operation === undefined) return yield* McpError.invalidParams(`Unknown tool: ${name}`)
      const { parameters = [], path, request, requestBody } = operation
      const names = (place: string) => parameters.filter((one) => one.in === place).map(({ name }) => name)
      const filled = names("path").reduce(
        (path, name) => path.replace(`{${name}}`, encodeURIComponent(String(input[name]))),
        path
      )
      const query = names("query").flatMap((name) => name in input ? [[name, String(input[name])] as const] : [])
      const sent = request(url + filled).pipe(
        HttpClientRequest.setUrlParams(query),
        requestBody === undefined ? (request) => request : HttpClientRequest.bodyJsonUnsafe(input)
      )
      const { status, text } = yield* Effect.orDie(client.execute(sent))
      return { content: [Content.text(yield* Effect.orDie(text))], isError: status >= 400 }
    })
  }, { info: { name: "api", version: "1.0.0" } })
})

StdioServer.runMain(Effect.provide(program, Layer.merge(StdioServer.layerNode(), FetchHttpClient.layer)))
