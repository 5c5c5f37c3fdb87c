/** Tools that send a sampling or elicitation request before they return. */
import * as Content from "@effect-mcp/protocol/Content"
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const group = McpGroup.make(
  "client requests",
  Tool.make("test_sampling", {
    description: "Requests a message of the client's model.",
    parameters: Schema.Struct({ prompt: Schema.String.annotate({ description: "The prompt" }) }),
    success: Schema.String
  }),
  Tool.make("test_elicitation", {
    description: "Requests input of the client's user.",
    parameters: Schema.Struct({ message: Schema.String.annotate({ description: "The message for the user" }) }),
    success: Schema.String
  }),
  Tool.make("test_elicitation_sep1034_defaults", {
    description: "Requests input with default values.",
    success: Schema.String
  }),
  Tool.make("test_elicitation_sep1330_enums", {
    description: "Requests choices of every kind.",
    success: Schema.String
  })
)

/** Elicits input, and returns the user's response as it is. */
const elicit = (message: string, requestedSchema: ElicitationSchema.ElicitationSchema) =>
  Effect.map(
    RequestContext.elicit({ message, requestedSchema }),
    ({ action, content = {} }) => `User response: action=${action}, content=${JSON.stringify(content)}`
  )

const person: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" }
  },
  required: ["username", "email"]
}

const defaults: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    name: { type: "string", description: "User name", default: "John Doe" },
    age: { type: "integer", description: "User age", default: 30 },
    score: { type: "number", description: "User score", default: 95.5 },
    status: {
      type: "string",
      description: "User status",
      enum: ["active", "inactive", "pending"],
      default: "active"
    },
    verified: { type: "boolean", description: "Verification status", default: true }
  },
  required: []
}

const choices: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    untitledSingle: {
      type: "string",
      description: "Select one option",
      enum: ["option1", "option2", "option3"]
    },
    titledSingle: {
      type: "string",
      description: "Select one option with titles",
      oneOf: [
        { const: "value1", title: "First Option" },
        { const: "value2", title: "Second Option" },
        { const: "value3", title: "Third Option" }
      ]
    },
    legacyEnum: {
      type: "string",
      description: "Select one option (legacy)",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"]
    },
    untitledMulti: {
      type: "array",
      description: "Select multiple options",
      minItems: 1,
      maxItems: 3,
      items: { type: "string", enum: ["option1", "option2", "option3"] }
    },
    titledMulti: {
      type: "array",
      description: "Select multiple options with titles",
      minItems: 1,
      maxItems: 3,
      items: {
        anyOf: [
          { const: "value1", title: "First Choice" },
          { const: "value2", title: "Second Choice" },
          { const: "value3", title: "Third Choice" }
        ]
      }
    }
  },
  required: []
}

export const layer = group.toLayer((handlers) =>
  handlers
    .tool("test_sampling", ({ prompt }) =>
      Effect.map(
        RequestContext.createMessage({ messages: [{ role: "user", content: Content.text(prompt) }], maxTokens: 100 }),
        ({ content }) => `LLM response: ${JSON.stringify(content)}`
      ))
    .tool("test_elicitation", ({ message }) => elicit(message, person))
    .tool(
      "test_elicitation_sep1034_defaults",
      () => elicit("Please review and update the form fields with defaults", defaults)
    )
    .tool("test_elicitation_sep1330_enums", () => elicit("Please select options from the enum fields", choices))
)
