/** Tools that send a sampling or elicitation request before they return. */
import * as Content from "@effect-mcp/protocol/Content"
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import type * as Protocol from "@effect-mcp/protocol/Tool"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type { Tool } from "./tool.ts"
import { nothing } from "./tool.ts"

/** Returns the schema of a tool with one text argument. */
const oneText = (name: string, description: string): Protocol.ObjectSchema => ({
  type: "object",
  properties: { [name]: { type: "string", description } },
  required: [name],
  additionalProperties: false
})

const sampling: Tool = {
  definition: {
    name: "test_sampling",
    description: "Requests a message of the client's model.",
    inputSchema: oneText("prompt", "The prompt")
  },
  run: ({ prompt }) =>
    RequestContext.createMessage({
      messages: [{ role: "user", content: Content.text(String(prompt)) }],
      maxTokens: 100
    }).pipe(Effect.map(({ content }) => [Content.text(`LLM response: ${JSON.stringify(content)}`)]))
}

const elicit = (message: string, requestedSchema: ElicitationSchema.ElicitationSchema) =>
  RequestContext.elicit({ message, requestedSchema }).pipe(
    Effect.map(({ action, content = {} }) => [
      Content.text(`User response: action=${action}, content=${JSON.stringify(content)}`)
    ])
  )

const elicitation: Tool = {
  definition: {
    name: "test_elicitation",
    description: "Requests input of the client's user.",
    inputSchema: oneText("message", "The message for the user")
  },
  run: ({ message }) =>
    elicit(String(message), {
      type: "object",
      properties: {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" }
      },
      required: ["username", "email"]
    })
}

const defaults: Tool = {
  definition: {
    name: "test_elicitation_sep1034_defaults",
    description: "Requests input with default values.",
    inputSchema: nothing
  },
  run: () =>
    elicit("Please review and update the form fields with defaults", {
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
    })
}

const choices: Tool = {
  definition: {
    name: "test_elicitation_sep1330_enums",
    description: "Requests choices of every kind.",
    inputSchema: nothing
  },
  run: () =>
    elicit("Please select options from the enum fields", {
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
    })
}

export const tools: ReadonlyArray<Tool> = [sampling, elicitation, defaults, choices]
