/** A stdio server of the operations in an OpenAPI document, written with FastMCP. */
import { fromOpenAPI } from "fastmcp/openapi"

const server = await fromOpenAPI({ spec: process.argv[2] ?? "openapi.json" })

await server.start({ transportType: "stdio" })
