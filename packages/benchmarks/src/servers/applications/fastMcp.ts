import { FastMCP } from "fastmcp"
import * as z from "zod/v4"

const description = "Adds two numbers, and returns their sum"
const parameters = z.object({ a: z.number(), b: z.number() })
const outputSchema = z.object({ sum: z.number() })
const [size = 1] = process.argv.slice(2).map(Number)

const server = new FastMCP({ name: "benchmark", version: "1.0.0" })
for (let index = 0; index < size; index++) {
  const name = index === 0 ? "add" : `add_${index}`
  server.addTool({ name, description, parameters, outputSchema, execute: async ({ a, b }) => ({ sum: a + b }) })
}

await server.start({ transportType: "stdio" })
