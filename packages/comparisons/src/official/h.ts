/** A stdio server of the operations in an OpenAPI document, written with the official SDK. */
import { fromJsonSchema, type JsonSchemaType, McpServer } from "@modelcontextprotocol/server"
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import * as fs from "node:fs"
import * as z from "zod/v4"

const JsonSchema = z.record(z.string(), z.custom<JsonSchemaType>())
const Parameter = z.object({
  name: z.string(),
  in: z.enum(["path", "query"]),
  required: z.boolean().default(false),
  schema: JsonSchema
})
const ObjectSchema = z.object({ properties: JsonSchema, required: z.array(z.string()).default([]) })
const Operation = z.object({
  operationId: z.string(),
  summary: z.string().optional(),
  parameters: z.array(Parameter).default([]),
  requestBody: z.object({ content: z.object({ "application/json": z.object({ schema: ObjectSchema }) }) }).optional()
})
const Document = z.object({
  servers: z.tuple([z.object({ url: z.string() })]),
  paths: z.record(z.string(), z.partialRecord(z.enum(["get", "post"]), Operation))
})

const text = fs.readFileSync(process.argv[2] ?? "openapi.json", "utf8")
const { paths, servers: [{ url }] } = Document.parse(JSON.parse(text))

const server = new McpServer({ name: "api", version: "1.0.0" })
for (const [path, methods] of Object.entries(paths)) {
  for (const [method, { operationId, parameters, requestBody, summary = operationId }] of Object.entries(methods)) {
    const body = requestBody?.content["application/json"].schema
    const inputSchema = fromJsonSchema<Record<string, unknown>>({
      type: "object",
      properties: { ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), ...body?.properties },
      required: [...parameters.filter(({ required }) => required).map(({ name }) => name), ...body?.required ?? []]
    })
    server.registerTool(operationId, { description: summary, inputSchema }, async (input) => {
      const target = new URL(url + path.replaceAll(/\{(.+?)\}/g, (_, name) => encodeURIComponent(String(input[name]))))
      for (const { in: place, name } of parameters) {
        if (place === "query" && name in input) target.searchParams.set(name, String(input[name]))
      }
      const response = await fetch(target, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(input), headers: { "content-type": "application/json" } })
      })
      return { content: [{ type: "text", text: await response.text() }], isError: !response.ok }
    })
  }
}

await server.connect(new StdioServerTransport())
