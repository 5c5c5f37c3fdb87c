/**
 * The sign-in to a server that asks for it. This module is loaded with the first server of a URL only.
 */
import { OAuth, type UserAgent } from "@effect-mcp/auth"
import * as NodeTokenStore from "@effect-mcp/auth/NodeTokenStore"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import * as PlainText from "@effect-mcp/client/PlainText"
import type { ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Writable } from "node:stream"
import type { SignInOptions } from "./signInOptions.ts"

/** Options of the sign-in. */
export interface Options extends SignInOptions {
  readonly note: (text: string) => void
}

/** Shows the URL. The redirect arrives at this machine, or the person passes its address to the command `login`. */
const byUrl = ({ note, pasted }: Options): UserAgent.UserAgent => {
  const agent = NodeUserAgent.paste({
    input: pasted,
    output: new Writable({ write: (_text, _encoding, done) => done() })
  })
  return agent._tag !== "Redirect" ? agent : {
    ...agent,
    open: (remembered, required) =>
      Effect.map(agent.open(remembered, required), (redirection) => ({
        ...redirection,
        visit: (url, request, isExpected) => {
          note(`* sign in to ${PlainText.line(request.server)} with your browser: ${url.href}`)
          note(`* If the browser runs elsewhere, enter: login <the address that it was led to at last>`)
          return redirection.visit(url, request, isExpected)
        }
      }))
  }
}

const userAgent = (options: Options): UserAgent.UserAgent | undefined => {
  switch (options.way) {
    case "url":
      return byUrl(options)
    case "browser":
      return NodeUserAgent.browser()
    case "device":
      return NodeUserAgent.device({
        output: new Writable({
          write: (text, _encoding, done) => {
            options.note(`* ${String(text).trimEnd()}`)
            done()
          }
        })
      })
    case "none":
      return undefined
  }
}

/** The authorization of the console. */
export const layer = (options: Options): Layer.Layer<ClientAuthorization> => {
  const oauth = OAuth.layer({ clientName: "Effect MCP CLI", userAgent: userAgent(options) })
  const { folder } = options
  return folder === undefined
    ? oauth
    : Layer.provide(oauth, NodeTokenStore.layer({ directory: folder, encryption: "none" }))
}
