/**
 * One side of a conversation, played from a transcript over any transport: against a session, or against a program.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import { type Recording, type Transport, TransportError } from "@effect-mcp/session"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Pattern from "./arbitrary/Pattern.ts"
import * as ScriptedConnection from "./internal/transcript/ScriptedConnection.ts"
import { trust } from "./internal/trust.ts"
import * as Transcript from "./Transcript.ts"

/**
 * How the script is played.
 *
 * @category models
 */
export interface Options {
  /** How long to wait for each line that is expected, by the `Clock`, until the script says otherwise. Default 5 seconds. */
  readonly timeout?: Duration.Input
}

/**
 * What came of a script that was played to its end.
 *
 * @category models
 */
export interface Played {
  /** The values that the names of the script were bound to. */
  readonly bindings: Pattern.Bindings
  /** Everything that was said and came, what was ignored included; `at` is when the script took it up. */
  readonly entries: ReadonlyArray<Recording.Entry>
}

/**
 * The kinds of {@link ScriptError}. What was expected and what came are written as lines of a transcript.
 *
 * - `Mismatch`: what came is not what is expected; `mismatch` is the first place that differs, where both are messages.
 * - `NothingCame`: nothing that is expected came in time.
 * - `Unexpected`: a message came where none may: in a silence, or behind the last line.
 * - `SendFailed`: the transport did not take a message.
 * - `Unbound`: the name has no value yet, since the line that binds it stands in another branch of a block.
 *
 * @category models
 */
export type ScriptErrorReason =
  | {
    readonly _tag: "Mismatch"
    readonly expected: string
    readonly came: string
    readonly mismatch: Pattern.Mismatch | undefined
  }
  | { readonly _tag: "NothingCame"; readonly expected: string; readonly afterMillis: number }
  | { readonly _tag: "Unexpected"; readonly came: string }
  | { readonly _tag: "SendFailed"; readonly error: TransportError.TransportError }
  | { readonly _tag: "Unbound"; readonly name: string }

const place = (path: ReadonlyArray<string | number>): string =>
  path.length === 0 ? "as a whole" : `at ${path.map((step) => `[${JSON.stringify(step)}]`).join("")}`

const describe = (reason: ScriptErrorReason): string => {
  switch (reason._tag) {
    case "Mismatch": {
      const { came, expected, mismatch } = reason
      const difference = mismatch === undefined
        ? ""
        : `\n${place(mismatch.path)}: expected ${mismatch.expected}, found ${mismatch.found}`
      return `expected\n${expected}\nbut there came\n${came}${difference}`
    }
    case "NothingCame":
      return `expected\n${reason.expected}\nbut nothing of the kind came within ${reason.afterMillis} ms`
    case "Unexpected":
      return `nothing was expected, but there came\n${reason.came}`
    case "SendFailed":
      return `it could not be said: ${reason.error.message}`
    case "Unbound":
      return `$${reason.name} is bound to nothing yet`
  }
}

/**
 * The conversation left the script. The message shows the line, what was expected, what came, and all that was said until then.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { ScriptedPeer } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const server = ServerSession.layerInProcess({}, { info: { name: "example", version: "1.0.0" } })
 * const script = `# ping works before the handshake
 * → {"jsonrpc":"2.0","id":1,"method":"ping"}
 * ← {"jsonrpc":"2.0","id":1,"result":{"pong":true}}
 * `
 *
 * export const path = ScriptedPeer.play(script).pipe(
 *   Effect.scoped,
 *   Effect.flip,
 *   Effect.map((error) =>
 *     error._tag === "ScriptError" && error.reason._tag === "Mismatch" ? error.reason.mismatch?.path : undefined
 *   ),
 *   Effect.provide(server)
 * ) // => ["result", "pong"]
 * ```
 *
 * @category errors
 */
export class ScriptError extends Data.TaggedError("ScriptError")<{
  /** The line of the script, from 1; one behind the last where the script was over. */
  readonly line: number
  readonly reason: ScriptErrorReason
  /** What was said and came until then, as a transcript. */
  readonly soFar: string
}> {
  override get message(): string {
    return `line ${this.line} of the script: ${describe(this.reason)}\n\nthe conversation so far:\n${this.soFar}`
  }
}

type Arrival = ScriptedConnection.Arrival

const unreadable = (error: Transport.FrameError): string => {
  switch (error._tag) {
    case "NotJson":
      return JSON.stringify(error.text)
    case "TooLarge":
      return `more than ${error.limitBytes} bytes`
    case "TooComplex":
      return `${error.nodes} arrays, objects and members, more than ${error.limitNodes}`
  }
}

/** What came, as a line of a transcript, with what more there is to say of it. */
const lineOf = (arrival: Arrival): string => {
  switch (arrival._tag) {
    case "Message":
      return `← ${Pattern.print(Pattern.exactly(arrival.frame))}`
    case "Unreadable":
      return `← unreadable: ${unreadable(arrival.error)}`
    case "Ended":
      return `← end (${TransportError.make({ _tag: "PeerEnded", exit: arrival.end.exit }).message})`
    case "Failed":
      return `# ${arrival.error.message}`
  }
}

/** What was said or came, with the line that shows it. */
interface Seen {
  readonly entry: Recording.Entry | undefined
  readonly line: string
}

type Expected = Extract<Transcript.Step, { readonly _tag: "Expect" | "ExpectEnd" | "ExpectUnreadable" }>

/** A step, and the line it stands on. */
interface Placed<out Step> {
  readonly line: number
  readonly step: Step
}

/** Each step with its line; `from` is the line of the first. */
const placed = <Step extends Transcript.Step | Transcript.InOrder>(
  steps: ReadonlyArray<Step>,
  from: number
): ReadonlyArray<Placed<Step>> => {
  let line = from
  return steps.map((step) => {
    const here = { line, step }
    line += Transcript.lineCount(step)
    return here
  })
}

type InBranch = Placed<Transcript.Say | Transcript.Expect>

const withoutRemarks = (
  steps: ReadonlyArray<Placed<Transcript.Say | Transcript.Expect | Transcript.Remark>>
): ReadonlyArray<InBranch> =>
  steps.flatMap(({ line, step }) => step._tag === "Say" || step._tag === "Expect" ? [{ line, step }] : [])

/** The branches of a block, each a row of steps. */
const branchesOf = (
  block: Placed<Extract<Transcript.Step, { readonly _tag: "AnyOrder" }>>
): ReadonlyArray<ReadonlyArray<InBranch>> =>
  placed(block.step.steps, block.line + 1).map(({ line, step }) =>
    withoutRemarks(step._tag === "InOrder" ? placed(step.steps, line + 1) : [{ line, step }])
  )

const textOf = (step: Transcript.Step): string => Transcript.print([step]).trimEnd()

class Player {
  private bindings: Pattern.Bindings = new Map()
  private readonly seen: Array<Seen> = []
  private readonly ignored: Array<Pattern.Pattern> = []
  private deadline: number
  private readonly connection: ScriptedConnection.ScriptedConnection

  constructor(connection: ScriptedConnection.ScriptedConnection, deadline: number) {
    this.connection = connection
    this.deadline = deadline
  }

  readonly played = (): Played => ({
    bindings: this.bindings,
    entries: this.seen.flatMap(({ entry }) => entry === undefined ? [] : [entry])
  })

  private fail(line: number, reason: ScriptErrorReason): ScriptError {
    return new ScriptError({ line, reason, soFar: this.seen.map(({ line }) => `${line}\n`).join("") })
  }

  private saw(arrival: Arrival): Effect.Effect<Arrival> {
    return Effect.map(Clock.currentTimeMillis, (at) => {
      const entry: Recording.Entry | undefined = arrival._tag === "Message"
        ? { _tag: "Received", at, frame: arrival.frame }
        : arrival._tag === "Unreadable"
        ? { _tag: "Unreadable", at, error: arrival.error }
        : undefined
      this.seen.push({ entry, line: lineOf(arrival) })
      return arrival
    })
  }

  private readonly next = Effect.suspend(() =>
    Effect.flatMap(Queue.take(this.connection.arrivals), (arrival) => this.saw(arrival))
  )

  private isIgnored(arrival: Arrival): boolean {
    return arrival._tag === "Message" &&
      this.ignored.some((pattern) => Result.isSuccess(Pattern.match(pattern, arrival.frame, this.bindings)))
  }

  private say({ line, step }: Placed<Transcript.Say>): Effect.Effect<void, ScriptError> {
    return Effect.gen({ self: this }, function*() {
      const filled = Pattern.fill(step.message, this.bindings)
      if (Result.isFailure(filled)) {
        // The types allow a wildcard where the text of a transcript does not.
        const name = filled.failure._tag === "Unbound" ? filled.failure.name : "_"
        return yield* this.fail(line, { _tag: "Unbound", name })
      }
      const frame = filled.success
      const at = yield* Clock.currentTimeMillis
      this.seen.push({
        // Any JSON may be said, a message or not.
        entry: { _tag: "Sent", at, frame: trust<JsonRpc.Frame>(frame) },
        line: `→ ${Pattern.print(Pattern.exactly(frame))}`
      })
      yield* Effect.mapError(
        this.connection.say(frame),
        (error) => this.fail(line, { _tag: "SendFailed", error })
      )
    })
  }

  /** The names that are bound then, or why this is not it; `undefined` where there is nothing to compare. */
  private compare(expected: Expected, arrival: Arrival): Result.Result<Pattern.Bindings, Pattern.Mismatch | undefined> {
    switch (expected._tag) {
      case "Expect":
        return arrival._tag === "Message"
          ? Pattern.match(expected.pattern, arrival.frame, this.bindings)
          : Result.fail(undefined)
      case "ExpectEnd":
        return arrival._tag === "Ended" ? Result.succeed(this.bindings) : Result.fail(undefined)
      case "ExpectUnreadable":
        return arrival._tag === "Unreadable" ? Result.succeed(this.bindings) : Result.fail(undefined)
    }
  }

  /** Waits for what fits one of these, and says which; the first that fits has it. */
  private expect<Head extends Placed<Expected>>(heads: readonly [Head, ...ReadonlyArray<Head>]) {
    const { deadline } = this
    const expected = heads.map(({ step }) => textOf(step)).join("\n")
    const search: Effect.Effect<Head, ScriptError> = Effect.flatMap(this.next, (arrival) => {
      const misfits: Array<Placed<Pattern.Mismatch | undefined>> = []
      for (const head of heads) {
        const compared = this.compare(head.step, arrival)
        if (Result.isSuccess(compared)) {
          this.bindings = compared.success
          return Effect.succeed(head)
        }
        misfits.push({ line: head.line, step: compared.failure })
      }
      if (this.isIgnored(arrival)) return search
      // Of several, the one that fits furthest is the one that was meant.
      const depth = ({ step }: (typeof misfits)[number]) => step?.path.length ?? -1
      const closest = misfits.reduce((best, misfit) => depth(misfit) > depth(best) ? misfit : best)
      return Effect.fail(this.fail(closest.line, {
        _tag: "Mismatch",
        expected,
        came: lineOf(arrival),
        mismatch: closest.step
      }))
    })
    return Effect.timeoutOrElse(search, {
      duration: deadline,
      orElse: () => Effect.fail(this.fail(heads[0].line, { _tag: "NothingCame", expected, afterMillis: deadline }))
    })
  }

  private silence(line: number, millis: number): Effect.Effect<void, ScriptError> {
    const interruption: Effect.Effect<Arrival> = Effect.filterOrElse(
      this.next,
      (arrival) => !this.isIgnored(arrival),
      () => interruption
    )
    return Effect.flatMap(Effect.timeoutOption(interruption, millis), (came) =>
      Option.isNone(came)
        ? Effect.void
        : Effect.fail(this.fail(line, { _tag: "Unexpected", came: lineOf(came.value) })))
  }

  private anyOrder(
    block: Placed<Extract<Transcript.Step, { readonly _tag: "AnyOrder" }>>
  ): Effect.Effect<void, ScriptError> {
    return Effect.gen({ self: this }, function*() {
      const branches = branchesOf(block).map((steps) => ({ steps, at: 0 }))
      for (;;) {
        const heads: Array<Placed<Transcript.Expect> & { readonly branch: { at: number } }> = []
        for (const branch of branches) {
          let head = branch.steps[branch.at]
          while (head?.step._tag === "Say") {
            yield* this.say({ line: head.line, step: head.step })
            head = branch.steps[++branch.at]
          }
          if (head?.step._tag === "Expect") heads.push({ line: head.line, step: head.step, branch })
        }
        const [first, ...others] = heads
        if (first === undefined) return
        const { branch } = yield* this.expect([first, ...others])
        branch.at++
      }
    })
  }

  readonly play = ({ line, step }: Placed<Transcript.Step>): Effect.Effect<void, ScriptError> => {
    switch (step._tag) {
      case "Comment":
      case "Blank":
        return Effect.void
      case "Say":
        return this.say({ line, step })
      case "SayEnd":
        return Effect.suspend(() => {
          this.seen.push({ entry: undefined, line: "→ end" })
          return this.connection.end
        })
      case "Expect":
      case "ExpectEnd":
      case "ExpectUnreadable":
        return Effect.asVoid(Effect.suspend(() => this.expect([{ line, step }])))
      case "Wait":
        return Effect.sleep(step.millis)
      case "Silence":
        return this.silence(line, step.millis)
      case "Deadline":
        return Effect.sync(() => {
          this.deadline = step.millis
        })
      case "Ignore":
        return Effect.sync(() => {
          this.ignored.push(step.pattern)
        })
      case "AnyOrder":
        return this.anyOrder({ line, step })
    }
  }

  /** What has come by now and nobody expects. */
  readonly leftovers = (line: number): Effect.Effect<void, ScriptError> =>
    Effect.gen({ self: this }, function*() {
      for (const arrival of yield* Queue.clear(this.connection.arrivals)) {
        yield* this.saw(arrival)
        if (arrival._tag === "Ended" || this.isIgnored(arrival)) continue
        return yield* this.fail(line, { _tag: "Unexpected", came: lineOf(arrival) })
      }
    })
}

/**
 * Connects, and plays the script: says what it says, and holds what comes against what it expects. The connection stays open
 * behind the last line, and closes with the scope.
 *
 * Messages come in the order of the script, but for those in a block of any order; there, the first line that fits takes the
 * message, so put the narrower line first. A message that nothing expects is a failure unless the script ignores it. Behind
 * the last line only what has come by then is seen: let the script end with `silence` or `← end` where nothing may follow.
 *
 * It plays either side. Where each request of the client has a stream of its own, responses of a scripted server take that of their
 * request, progress that of the request with its token, and the rest that of the latest request without an answer, or else the
 * standalone stream.
 *
 * Fails with a `ScriptError` where the conversation leaves the script, with a `TranscriptError` if the text is no transcript, and with
 * a `TransportError` if there is no connection. Time is that of the `Clock`: under `TestClock` a deadline passes when the test says so.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { ScriptedPeer } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const server = ServerSession.layerInProcess({
 *   "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`hello from ${name}`)] })
 * }, { info: { name: "greeter", version: "1.0.0" } })
 *
 * export const greeting = ScriptedPeer.play(`
 * # shake hands, then call
 * → {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}
 * ← {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"greeter", ...}, ...}}
 * → {"jsonrpc":"2.0","method":"notifications/initialized"}
 * → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Ada"}}
 * ← {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":$greeting}]}}
 * `).pipe(
 *   Effect.map(({ bindings }) => bindings.get("greeting")),
 *   Effect.scoped,
 *   Effect.provide(server)
 * ) // => "hello from Ada"
 * ```
 *
 * @category running
 */
export const play = Effect.fnUntraced(function*(
  script: string | Transcript.Transcript,
  options: Options = {}
): Effect.fn.Return<
  Played,
  ScriptError | Transcript.TranscriptError | TransportError.TransportError,
  Transport.Transport | Scope.Scope
> {
  const transcript = typeof script === "string" ? yield* Effect.fromResult(Transcript.parse(script)) : script
  const connection = yield* ScriptedConnection.open
  const player = new Player(connection, Duration.toMillis(options.timeout ?? "5 seconds"))
  const steps = placed(transcript, 1)
  yield* Effect.forEach(steps, player.play, { discard: true })
  yield* player.leftovers(transcript.reduce((sum, step) => sum + Transcript.lineCount(step), 1))
  return player.played()
})
