/** Tools that return every type of content, and one that fails. */
import * as Content from "@effect-mcp/protocol/Content"
import * as Resource from "@effect-mcp/protocol/Resource"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpTool from "@effect-mcp/server/McpTool"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Media from "./media.ts"

const contentTool = <const Name extends string>(name: Name, description: string) =>
  Tool.make(name, { description, success: McpTool.Content }).annotate(Tool.Strict, true)

const group = McpGroup.make(
  "content",
  contentTool("test_simple_text", "Returns text."),
  contentTool("test_image_content", "Returns an image."),
  contentTool("test_audio_content", "Returns audio."),
  contentTool("test_embedded_resource", "Returns an embedded resource."),
  contentTool("test_multiple_content_types", "Returns text, an image and an embedded resource."),
  Tool.make("test_error_handling", { description: "Fails.", failure: Schema.String })
)

export const layer = group.toLayer((handlers) =>
  handlers
    .tool("test_simple_text", () => Effect.succeed([Content.text("This is a simple text response for testing.")]))
    .tool("test_image_content", () => Effect.succeed([Media.image]))
    .tool("test_audio_content", () => Effect.succeed([Media.audio]))
    .tool("test_embedded_resource", () =>
      Effect.succeed([
        Content.resource(
          Resource.text("test://embedded-resource", "This is an embedded resource content.", "text/plain")
        )
      ]))
    .tool("test_multiple_content_types", () =>
      Effect.succeed([
        Content.text("Multiple content types test:"),
        Media.image,
        Content.resource(
          Resource.text("test://mixed-content-resource", `{"test":"data","value":123}`, "application/json")
        )
      ]))
    .tool("test_error_handling", () => Effect.fail("This tool intentionally returns an error for testing"))
)
