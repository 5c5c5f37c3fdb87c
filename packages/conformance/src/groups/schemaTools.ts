/** A tool whose schema uses many keywords of JSON Schema 2020-12. */
import { AjvValidator } from "@effect-mcp/json-schema"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const group = McpGroup.make(
  "schemas",
  Tool.dynamic("json_schema_2020_12_tool", {
    description: "Takes a person with contact details, and returns them.",
    success: Schema.String,
    parameters: {
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
  })
)

export const layer = group.toLayer((handlers) =>
  handlers.tool("json_schema_2020_12_tool", (input) => Effect.succeed(JSON.stringify(input)))
).pipe(Layer.provide(AjvValidator.layer()))
