/** User agents whose person is a script, at the real listener of the library. */
import type { UserAgent } from "@effect-mcp/auth"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import * as Effect from "effect/Effect"
import { PassThrough } from "node:stream"
import * as person from "./person.ts"

/** A person who signs in, and the record of what happened. */
export interface ScriptedPerson {
  readonly userAgent: UserAgent.UserAgent
  /** The URLs of the windows that were opened. */
  readonly windows: Array<URL>
  /** The pages on which the windows ended. */
  readonly ends: Array<{ readonly status: number; readonly text: string }>
  /** The redirect URIs, in the order of their listeners. */
  readonly redirects: Array<string>
  /** Acts as the person at a window. Default: signs in. */
  act: (url: URL) => Promise<unknown>
}

/** Options of the person. */
export interface Options extends NodeUserAgent.LoopbackOptions {
  readonly decisions?: person.Decisions
}

/** Creates a person at a terminal, whose browser reaches the listener of this process. */
export const make = (options: Options = {}): ScriptedPerson => {
  const windows: Array<URL> = []
  const ends: ScriptedPerson["ends"] = []
  const redirects: Array<string> = []
  const agent = NodeUserAgent.paste({ ...options, input: new PassThrough(), output: new PassThrough() })
  const scripted: ScriptedPerson = {
    windows,
    ends,
    redirects,
    act: async (url) => {
      ends.push(await person.visit(url, options.decisions))
    },
    userAgent: agent._tag !== "Redirect" ? agent : {
      ...agent,
      open: (remembered, required) =>
        Effect.map(agent.open(remembered, required), (redirection) => {
          redirects.push(redirection.uri)
          return {
            ...redirection,
            visit: (url, request, isExpected) => {
              windows.push(url)
              const visiting = redirection.visit(url, request, isExpected)
              // The listener waits before the person begins.
              setTimeout(() => void scripted.act(url).catch(() => {}), 5)
              return visiting
            }
          }
        })
    }
  }
  return scripted
}
