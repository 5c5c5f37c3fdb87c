/** Tools that return every type of content, and one that fails. */
import * as Content from "@effect-mcp/protocol/Content"
import * as Effect from "effect/Effect"
import * as Media from "./media.ts"
import * as Tool from "./tool.ts"

const contentTool = (
  name: string,
  description: string,
  ...content: ReadonlyArray<Content.ContentBlock>
): Tool.Tool => ({
  definition: { name, description, inputSchema: Tool.nothing },
  run: () => Effect.succeed(content)
})

const failing: Tool.Tool = {
  definition: { name: "test_error_handling", description: "Fails.", inputSchema: Tool.nothing },
  run: () => Effect.fail(new Tool.ToolFailure({ message: "This tool intentionally returns an error for testing" }))
}

export const tools: ReadonlyArray<Tool.Tool> = [
  contentTool(
    "test_simple_text",
    "Returns text.",
    Content.text("This is a simple text response for testing.")
  ),
  contentTool("test_image_content", "Returns an image.", Media.image),
  contentTool("test_audio_content", "Returns audio.", Media.audio),
  contentTool("test_embedded_resource", "Returns an embedded resource.", {
    type: "resource",
    resource: {
      uri: "test://embedded-resource",
      mimeType: "text/plain",
      text: "This is an embedded resource content."
    }
  }),
  contentTool(
    "test_multiple_content_types",
    "Returns text, an image and an embedded resource.",
    Content.text("Multiple content types test:"),
    Media.image,
    {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: JSON.stringify({ test: "data", value: 123 })
      }
    }
  ),
  failing
]
