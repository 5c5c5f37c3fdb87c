/** The start of a browser, without a shell (AUT-53). */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"
import * as OAuthError from "../../OAuthError.ts"
import { isVisitable } from "./VisitableUrl.ts"

/** A command and its arguments, before the URL. */
export type Command = readonly [command: string, ...arguments_: ReadonlyArray<string>]

/**
 * Returns the command of a platform that opens a URL in the default browser. On Windows it is not `start`, which is a
 * part of the shell.
 */
export const commandOf = (platform: NodeJS.Platform, env: Readonly<Record<string, string | undefined>>): Command => {
  switch (platform) {
    case "darwin":
      return ["/usr/bin/open"]
    case "win32":
      return [
        Path.win32.join(env["SystemRoot"] ?? "C:\\Windows", "System32", "rundll32.exe"),
        "url.dll,FileProtocolHandler"
      ]
    default:
      return ["xdg-open"]
  }
}

const failed = (command: Command, problem: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "UserAgentFailed",
    problem: `${command[0]} did not open the browser: ${problem}; set command of NodeUserAgent.browser, or use ` +
      "NodeUserAgent.paste or NodeUserAgent.device"
  })

/** The time within which an exit status other than 0 means that no browser was opened. */
const openingMillis = 3_000

/** The failure of a URL that no browser may open. */
export const refused = OAuthError.make({
  _tag: "UserAgentFailed",
  problem: "a browser opens only https URLs and http URLs of this machine"
})

/** A command that opens a URL. */
export interface Opener {
  readonly command: Command
  /**
   * Whether the command may be the browser itself. Then it stays when the scope closes, because it belongs to the
   * person. The command of a platform is ended, and the browser that it has started stays as well.
   */
  readonly isBrowser: boolean
}

/**
 * Starts the command with the URL as its last argument. Completes if the command reports a failure soon; otherwise it
 * does not complete.
 */
export const open = (
  { command, isBrowser }: Opener,
  url: URL
): Effect.Effect<never, OAuthError.OAuthError, Scope.Scope> => {
  if (!isVisitable(url)) return Effect.fail(refused)
  const [file, ...before] = command
  // In a process group of its own, the browser does not end with the program on Ctrl-C.
  const options = { detached: process.platform !== "win32", shell: false, stdio: "ignore", windowsHide: true } as const
  return Effect.flatMap(
    Effect.acquireRelease(
      Effect.try({
        try: () => ChildProcess.spawn(file, [...before, url.href], options),
        catch: (cause) => failed(command, cause instanceof Error ? cause.message : "it cannot be started")
      }),
      (child) =>
        Effect.sync(() => {
          // An error after this has no listener, and would end the process.
          child.removeAllListeners().on("error", () => {}).unref()
          if (!isBrowser) child.kill()
        })
    ),
    (child) =>
      Effect.callback<never, OAuthError.OAuthError>((resume) => {
        const started = performance.now()
        child.once("error", ({ message }) => resume(Effect.fail(failed(command, message))))
        child.once("exit", (code) => {
          if (code !== null && code !== 0 && performance.now() - started < openingMillis) {
            resume(Effect.fail(failed(command, `it exited with status ${code}`)))
          }
        })
      })
  )
}
