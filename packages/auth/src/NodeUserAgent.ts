/**
 * People at this machine: their browser, or their terminal.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import type { Readable, Writable } from "node:stream"
import * as LoopbackListener from "./internal/agents/LoopbackListener.ts"
import * as Opener from "./internal/agents/Opener.ts"
import * as PastedRedirect from "./internal/agents/PastedRedirect.ts"
import { isVisitable } from "./internal/agents/VisitableUrl.ts"
import type * as OAuthError from "./OAuthError.ts"
import * as UserAgent from "./UserAgent.ts"

/**
 * Options for the redirect to this machine.
 *
 * @category options
 */
export interface LoopbackOptions {
  /**
   * The port of the redirect URI. Default: the port that the client is registered with, or else a free one. Set it for
   * a client whose redirect URI is registered by hand.
   */
  readonly port?: number | undefined
  /**
   * The host of the redirect URI. With `localhost` the listener is at 127.0.0.1 and at ::1, of which a browser chooses
   * one. Default `127.0.0.1`.
   */
  readonly hostname?: "127.0.0.1" | "localhost" | undefined
  /** The path of the redirect URI. Default `/callback`. */
  readonly path?: string | undefined
  /**
   * Asks the person whether to open another window. After a refusal, it is not called until `OAuth.login`. Default: no
   * other window opens without `OAuth.login`.
   */
  readonly confirm?: ((request: UserAgent.SignInRequest) => Effect.Effect<boolean>) | undefined
}

/**
 * Options of {@link browser}.
 *
 * @category options
 */
export interface BrowserOptions extends LoopbackOptions {
  /**
   * The command that opens a URL, which becomes its last argument. No shell is involved. Default: `xdg-open`, `open`,
   * or the handler of Windows.
   */
  readonly command?: Opener.Command | undefined
}

/** Lets a person visit a URL, while a listener waits for the redirect. */
type Visit = (
  listener: LoopbackListener.LoopbackListener,
  ...visit: Parameters<UserAgent.Redirection["visit"]>
) => Effect.Effect<URLSearchParams, OAuthError.OAuthError>

const loopback = (options: LoopbackOptions, visit: Visit): UserAgent.UserAgent => ({
  _tag: "Redirect",
  open: (remembered, required) =>
    Effect.map(
      required === undefined
        ? LoopbackListener.reopen(
          { hostname: options.hostname ?? "127.0.0.1", path: options.path ?? "/callback" },
          options.port,
          remembered
        )
        : LoopbackListener.openAt(required),
      (listener) => ({
        uri: listener.uri,
        applicationType: "native",
        visit: (url, request, isExpected) => visit(listener, url, request, isExpected)
      })
    ),
  confirm: options.confirm
})

/**
 * The browser of a person at this machine. The redirect arrives at a listener on 127.0.0.1, which is open only while
 * the person signs in (RFC 8252). The browser opens `https:` URLs, and `http:` URLs of this machine (AUT-52, AUT-53).
 *
 * @example
 * ```ts
 * import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
 *
 * export const agent = NodeUserAgent.browser()
 * export const ofFirefox = NodeUserAgent.browser({ command: ["firefox", "--new-window"], port: 8123 })
 * ```
 *
 * @category constructors
 */
export const browser = (options: BrowserOptions = {}): UserAgent.UserAgent => {
  const opener: Opener.Opener = options.command === undefined
    ? { command: Opener.commandOf(process.platform, process.env), isBrowser: false }
    : { command: options.command, isBrowser: true }
  return loopback(options, (listener, url, _request, isExpected) =>
    // The listener expects the redirect before the browser starts.
    Effect.scoped(Effect.raceFirst(listener.redirect(isExpected), Opener.open(opener, url))))
}

/**
 * Options of the terminal.
 *
 * @category options
 */
export interface TerminalOptions {
  /** Where texts for the person are written. Default: standard error, because standard output can carry messages. */
  readonly output?: Writable | undefined
}

/**
 * Options of {@link paste}.
 *
 * @category options
 */
export interface PasteOptions extends LoopbackOptions, TerminalOptions {
  /** Where the address of the redirect is pasted. Default: standard input. */
  readonly input?: Readable | undefined
}

const writer = ({ output }: TerminalOptions) => (text: string): void => {
  ;(output ?? process.stderr).write(text)
}

/** Text of a server without characters that control a terminal. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")

/**
 * A person at a terminal whose browser runs elsewhere, such as over SSH. The URL is printed. The redirect then leads
 * the browser to an address that it cannot open, and the person pastes this address. If the browser can reach this
 * machine, the redirect arrives without that.
 *
 * @example
 * ```ts
 * import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
 *
 * export const agent = NodeUserAgent.paste({ input: process.stdin, output: process.stderr })
 * ```
 *
 * @category constructors
 */
export const paste = (options: PasteOptions = {}): UserAgent.UserAgent => {
  const write = writer(options)
  return loopback(options, (listener, url, request, isExpected) => {
    if (!isVisitable(url)) return Effect.fail(Opener.refused)
    const pasted = Effect.suspend(() => {
      write(
        `Sign in to ${plain(request.server)}: open this address in a browser.\n\n${url.href}\n\n` +
          `Then paste the address to which the browser was led. It begins with ${listener.uri}\n`
      )
      return PastedRedirect.read(
        options.input ?? process.stdin,
        isExpected,
        () => write("This is not the address of this sign-in. Paste the whole address.\n")
      )
    })
    return Effect.raceFirst(listener.redirect(isExpected), pasted)
  })
}

/**
 * A person who enters a code on another device (RFC 8628). The code and the URL are printed.
 *
 * @example
 * ```ts
 * import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
 *
 * export const agent = NodeUserAgent.device()
 * ```
 *
 * @category constructors
 */
export const device = (options: TerminalOptions = {}): UserAgent.UserAgent =>
  UserAgent.device(({ code, completeUrl, lifetimeMillis, server, url }) =>
    Effect.sync(() =>
      writer(options)(
        `Sign in to ${plain(server)}: open ${plain(url)} on any device, and enter the code ${plain(code)}\n` +
          (completeUrl === undefined ? "" : `Or open ${plain(completeUrl)}\n`) +
          `The code expires in ${Math.ceil(lifetimeMillis / 60_000)} minutes.\n`
      )
    )
  )
