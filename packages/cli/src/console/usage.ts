/**
 * The output of the command line itself: help, the version, and the errors of its words. An error has no help around
 * it, in which a person would have to find it.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as CliOutput from "effect/cli/CliOutput"
import * as Console from "effect/Console"
import type * as Layer from "effect/Layer"

/** The flags of all commands that `hosts` takes as well. The others are about a server that is started. */
const flagsOfHosts: ReadonlySet<string> = new Set(["json"])

/** Prints errors in the words of other errors, and help that has no flags which its command refuses. */
export const layer: Layer.Layer<never> = CliOutput.layerPresenter({
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation": {
        const problems = event.errors.map(({ message }) => `error: ${PlainText.text(message)}\n`).join("")
        return Console.error(`${problems}* ${event.commandPath.join(" ")} --help lists the commands and flags`)
      }
      case "Help": {
        const { commandPath, helpDoc } = event
        const { inheritedFlags = [] } = helpDoc
        return CliOutput.defaultPresenter.present(
          commandPath.at(-1) === "hosts"
            ? {
              ...event,
              helpDoc: { ...helpDoc, inheritedFlags: inheritedFlags.filter(({ name }) => flagsOfHosts.has(name)) }
            }
            : event
        )
      }
      case "Version":
        return CliOutput.defaultPresenter.present(event)
    }
  }
})
