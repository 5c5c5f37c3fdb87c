/** Resources: text, binary, one for subscriptions, and a template. */
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpResource from "@effect-mcp/server/McpResource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Media from "./media.ts"

const group = McpGroup.make(
  "resources",
  McpResource.make("static-text", {
    uri: "test://static-text",
    description: "A constant text",
    mimeType: "text/plain"
  }),
  McpResource.make("static-binary", {
    uri: "test://static-binary",
    description: "A constant image",
    mimeType: Media.image.mimeType
  }),
  McpResource.make("watched-resource", {
    uri: "test://watched-resource",
    description: "A text for subscriptions",
    mimeType: "text/plain"
  }),
  McpResource.template("template", {
    uri: "test://template/{id}/data",
    description: "A resource for any id",
    parameters: { id: Schema.NonEmptyString },
    content: Schema.Struct({ id: Schema.String, templateTest: Schema.Boolean, data: Schema.String })
  })
)

export const layer = group.toLayer((handlers) =>
  handlers
    .resource("static-text", Effect.succeed("This is the content of the static text resource."))
    .resource("static-binary", Effect.succeed(Buffer.from(Media.image.data, "base64")))
    .resource("watched-resource", Effect.succeed("Watched resource content"))
    .template("template", ({ id }) => Effect.succeed({ id, templateTest: true, data: `Data for ID: ${id}` }))
)
