/**
 * The options of the command line about the sign-in to a server.
 */
import type { Readable } from "node:stream"

/** The ways in which the person signs in to a server that asks for it. */
export const waysToSignIn = ["url", "browser", "device", "none"] as const

/** Options of the command line about the sign-in. */
export interface SignInOptions {
  readonly way: typeof waysToSignIn[number]
  /** The folder of the tokens. Without one, the person signs in after each start. */
  readonly folder: string | undefined
  /** The addresses of redirects that the person pastes, as lines. */
  readonly pasted: Readable
}
