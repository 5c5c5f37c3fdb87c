/** The record of a simulation of credentials. The laws judge nothing else. */
import type { Command } from "./Script.ts"

/** A token request, as the process that sends it knows it. */
export interface TokenRequest {
  readonly id: number
  readonly issuer: string
  readonly grant: string
  /** The refresh token or the code that it presents. */
  readonly presented: string
}

/**
 * An event of a process.
 *
 * - `TokenRequested`, `TokenReceived`, `TokenLost`: the process sends a token request, has its response, or has given
 *   it up without one.
 * - `Presented`: a secret of an issuer was sent to an origin. `owner` is the origin that it is for.
 * - `Wrote`, `Removed`: an operation of the store has changed tokens. `refreshToken` is the one of the entry.
 * - `Forgot`: the registration of the client was removed from the store.
 * - `ActStarted`, `ActEnded`: a call of the server, a login or a logout. `outcome` is the status of the response, or
 *   the tag of the error.
 * - `Said`: a line of a log, the name or the attributes of a span, or the text of an error.
 * - `Closed`: the process has ended in order. `living` is the number of its fibers that are left.
 */
export type ProcessEvent =
  | {
    readonly _tag: "Started" | "Killed" | "Suspended" | "Resumed" | "LoggedIn" | "LoggedOut" | "Confirmed" | "Forgot"
  }
  | { readonly _tag: "Closed"; readonly living: number }
  | { readonly _tag: "TokenRequested"; readonly request: TokenRequest }
  | { readonly _tag: "TokenReceived" | "TokenLost"; readonly request: TokenRequest }
  | { readonly _tag: "Presented"; readonly secret: string; readonly owner: string; readonly origin: string }
  | { readonly _tag: "Acquired" | "Released"; readonly key: string; readonly owner: string }
  | { readonly _tag: "Wrote" | "Removed"; readonly refreshToken: string }
  | { readonly _tag: "StoreFailed"; readonly operation: string }
  | { readonly _tag: "WindowOpened" | "WindowClosed"; readonly window: number }
  | { readonly _tag: "ActStarted"; readonly act: number; readonly name: string }
  | { readonly _tag: "ActEnded"; readonly act: number; readonly name: string; readonly outcome: string }
  | { readonly _tag: "Said"; readonly text: string }

/**
 * An event of the world.
 *
 * - `Rotated`: an issuer has replaced a refresh token, in its answer to a request.
 * - `Rejected`: an issuer has answered a refresh token with `invalid_grant`.
 * - `Calm`: the faults have stopped, and time has passed since then. `isGranted` is whether the issuer would accept the
 *   refresh token of the store.
 * - `Ended`: the calls after that had time to end.
 * - `Closing`: the person has answered all windows, and the processes that are left are ended in order.
 */
export type WorldEvent =
  | { readonly _tag: "Commanded"; readonly command: Command }
  | { readonly _tag: "Rotated"; readonly refreshToken: string; readonly request: number }
  | { readonly _tag: "Rejected"; readonly refreshToken: string }
  | { readonly _tag: "Migrated" | "Ended" | "Closing" }
  | { readonly _tag: "Calm"; readonly isGranted: boolean }

/** An event, its time in milliseconds, and the process that it concerns. */
export type Event = { readonly at: number } & ((ProcessEvent & { readonly process: number }) | WorldEvent)

/** A history, and the secrets that were issued or generated. */
export interface History {
  readonly events: ReadonlyArray<Event>
  readonly secrets: ReadonlySet<string>
}
