/** Prompts with and without arguments, with a resource and an image, and the completion of their arguments. */
import * as Content from "@effect-mcp/protocol/Content"
import * as Prompt from "@effect-mcp/protocol/Prompt"
import * as Resource from "@effect-mcp/protocol/Resource"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpPrompt from "@effect-mcp/server/McpPrompt"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Media from "./media.ts"

const argument = (description: string) => Schema.String.annotate({ description })

const group = McpGroup.make(
  "prompts",
  McpPrompt.make("test_simple_prompt", { description: "A prompt without arguments" }),
  McpPrompt.make("test_prompt_with_arguments", {
    description: "A prompt with two arguments",
    arguments: { arg1: argument("First test argument"), arg2: argument("Second test argument") }
  }),
  McpPrompt.make("test_prompt_with_embedded_resource", {
    description: "A prompt with an embedded resource",
    arguments: { resourceUri: argument("URI of the resource to embed") }
  }),
  McpPrompt.make("test_prompt_with_image", { description: "A prompt with an image" })
)

/** The suggestions for arguments: the values that the suite uses. */
const suggestions = () => Effect.succeed(["testValue1", "testValue2"])

export const layer = group.toLayer((handlers) =>
  handlers
    .prompt("test_simple_prompt", () => Effect.succeed("This is a simple prompt for testing."))
    .prompt(
      "test_prompt_with_arguments",
      ({ arg1, arg2 }) => Effect.succeed(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
      { complete: { arg1: suggestions, arg2: suggestions } }
    )
    .prompt("test_prompt_with_embedded_resource", ({ resourceUri }) =>
      Effect.succeed([
        Prompt.user(
          Content.resource(Resource.text(resourceUri, "Embedded resource content for testing.", "text/plain"))
        ),
        Prompt.user("Please process the embedded resource above.")
      ]))
    .prompt(
      "test_prompt_with_image",
      () => Effect.succeed([Prompt.user(Media.image), Prompt.user("Please analyze the image above.")])
    )
)
