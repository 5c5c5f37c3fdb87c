/** A tool whose schema uses many keywords of JSON Schema 2020-12. */
import * as Content from "@effect-mcp/protocol/Content"
import type * as Protocol from "@effect-mcp/protocol/Tool"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"

const inputSchema: Protocol.ObjectSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } }
    }
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" }
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false
}

const contact: Tool = {
  definition: {
    name: "json_schema_2020_12_tool",
    description: "Takes a person with contact details, and returns them.",
    inputSchema
  },
  run: (input) => Effect.succeed([Content.text(JSON.stringify(input))])
}

export const tools: ReadonlyArray<Tool> = [contact]
