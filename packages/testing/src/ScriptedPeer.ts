/**
 * A peer that follows a transcript, over any transport. It tests a session or a whole program.
 *
 * @stability unstable
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
 * Options for {@link play}.
 *
 * @category models
 */
export interface Options {
  /** The time limit for each expected line, on the `Clock`, until a `deadline` line changes it. Default: 5 seconds. */
  readonly timeout?: Duration.Input
}

/**
 * The result of a script that ended without an error.
 *
 * @category models
 */
export interface Played {
  /** The values of the script's names. */
  readonly bindings: Pattern.Bindings
  /**
   * Every message that was sent or received, ignored ones included. `at` is the time at which the script processed it.
   */
  readonly entries: ReadonlyArray<Recording.Entry>
}

/**
 * The reasons of a {@link ScriptError}. Expected and received messages are written as lines of a transcript.
 *
 * - `Mismatch`: a message arrived that the script does not expect. `mismatch` is the first difference, if both are
 *   messages.
 * - `NotReceived`: no expected message arrived in time.
 * - `Unexpected`: a message arrived during a `silence`, or after the last line.
 * - `SendFailed`: the transport did not accept a message.
 * - `Unbound`: a name has no value yet, because the line that binds it is in another branch of a block.
 *
 * @category models
 */
export type ScriptErrorReason =
  | {
    readonly _tag: "Mismatch"
    readonly expected: string
    readonly received: string
    readonly mismatch: Pattern.Mismatch | undefined
  }
  | { readonly _tag: "NotReceived"; readonly expected: string; readonly afterMillis: number }
  | { readonly _tag: "Unexpected"; readonly received: string }
  | { readonly _tag: "SendFailed"; readonly error: TransportError.TransportError }
  | { readonly _tag: "Unbound"; readonly name: string }

const place = (path: ReadonlyArray<string | number>): string =>
  path.length === 0 ? "as a whole" : `at ${path.map((step) => `[${JSON.stringify(step)}]`).join("")}`

const describe = (reason: ScriptErrorReason): string => {
  switch (reason._tag) {
    case "Mismatch": {
      const { expected, mismatch, received } = reason
      const difference = mismatch === undefined
        ? ""
        : `\n${place(mismatch.path)}: expected ${mismatch.expected}, found ${mismatch.found}`
      return `expected\n${expected}\nbut received\n${received}${difference}`
    }
    case "NotReceived":
      return `expected\n${reason.expected}\nbut received no such message within ${reason.afterMillis} ms`
    case "Unexpected":
      return `expected no message, but received\n${reason.received}`
    case "SendFailed":
      return `the transport did not accept the message: ${reason.error.message}`
    case "Unbound":
      return `$${reason.name} is not bound yet`
  }
}

/**
 * The error of a conversation that differs from the script. The message contains the line, the expected and the
 * received message, and the conversation so far.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { ScriptedPeer } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const server = ServerSession.layerMemory({}, { info: { name: "example", version: "1.0.0" } })
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
  /** The line of the script, from 1. After the end of the script it is the line after the last. */
  readonly line: number
  readonly reason: ScriptErrorReason
  /** The conversation until then, as a transcript. */
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
      return `${error.nodes} arrays, objects and members (8 for an integer beyond 2^53), more than ${error.limitNodes}`
  }
}

/** Returns a received message as a line of a transcript, with details if it is malformed. */
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

/** A sent or received message, with its line. */
interface Recorded {
  readonly entry: Recording.Entry | undefined
  readonly line: string
}

type Expected = Extract<Transcript.Step, { readonly _tag: "Expect" | "ExpectEnd" | "ExpectUnreadable" }>

/** A step, and its line. */
interface Placed<out Step> {
  readonly line: number
  readonly step: Step
}

/** Returns each step with its line; `from` is the line of the first. */
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

type InBranch = Placed<Transcript.Send | Transcript.Expect>

const withoutRemarks = (
  steps: ReadonlyArray<Placed<Transcript.Send | Transcript.Expect | Transcript.Remark>>
): ReadonlyArray<InBranch> =>
  steps.flatMap(({ line, step }) => step._tag === "Send" || step._tag === "Expect" ? [{ line, step }] : [])

/** Returns the branches of a block, each a sequence of steps. */
const branchesOf = (
  block: Placed<Extract<Transcript.Step, { readonly _tag: "AnyOrder" }>>
): ReadonlyArray<ReadonlyArray<InBranch>> =>
  placed(block.step.steps, block.line + 1).map(({ line, step }) =>
    withoutRemarks(step._tag === "InOrder" ? placed(step.steps, line + 1) : [{ line, step }])
  )

const textOf = (step: Transcript.Step): string => Transcript.print([step]).trimEnd()

class Player {
  private bindings: Pattern.Bindings = new Map()
  private readonly recorded: Array<Recorded> = []
  private readonly ignored: Array<Pattern.Pattern> = []
  private deadline: number
  private readonly connection: ScriptedConnection.ScriptedConnection

  constructor(connection: ScriptedConnection.ScriptedConnection, deadline: number) {
    this.connection = connection
    this.deadline = deadline
  }

  readonly played = (): Played => ({
    bindings: this.bindings,
    entries: this.recorded.flatMap(({ entry }) => entry === undefined ? [] : [entry])
  })

  private fail(line: number, reason: ScriptErrorReason): ScriptError {
    return new ScriptError({ line, reason, soFar: this.recorded.map(({ line }) => `${line}\n`).join("") })
  }

  private record(arrival: Arrival): Effect.Effect<Arrival> {
    return Effect.map(Clock.currentTimeMillis, (at) => {
      const entry: Recording.Entry | undefined = arrival._tag === "Message"
        ? { _tag: "Received", at, frame: arrival.frame }
        : arrival._tag === "Unreadable"
        ? { _tag: "Unreadable", at, error: arrival.error }
        : undefined
      this.recorded.push({ entry, line: lineOf(arrival) })
      return arrival
    })
  }

  private readonly next = Effect.suspend(() =>
    Effect.flatMap(Queue.take(this.connection.arrivals), (arrival) => this.record(arrival))
  )

  private isIgnored(arrival: Arrival): boolean {
    return arrival._tag === "Message" &&
      this.ignored.some((pattern) => Result.isSuccess(Pattern.match(pattern, arrival.frame, this.bindings)))
  }

  private send({ line, step }: Placed<Transcript.Send>): Effect.Effect<void, ScriptError> {
    return Effect.gen({ self: this }, function*() {
      const filled = Pattern.fill(step.message, this.bindings)
      if (Result.isFailure(filled)) {
        // The types allow a wildcard, which the text of a transcript does not.
        const name = filled.failure._tag === "Unbound" ? filled.failure.name : "_"
        return yield* this.fail(line, { _tag: "Unbound", name })
      }
      const frame = filled.success
      const at = yield* Clock.currentTimeMillis
      this.recorded.push({
        // A script may send any JSON, not only messages.
        entry: { _tag: "Sent", at, frame: trust<JsonRpc.Frame>(frame) },
        line: `→ ${Pattern.print(Pattern.exactly(frame))}`
      })
      yield* Effect.mapError(
        this.connection.send(frame),
        (error) => this.fail(line, { _tag: "SendFailed", error })
      )
    })
  }

  /**
   * Compares a message with an expectation. Returns the names that are bound afterwards, or the difference; `undefined`
   * if the two cannot be compared.
   */
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

  /** Waits for a message that fits one of these lines, and returns the first line that fits. */
  private expect<Head extends Placed<Expected>>(heads: readonly [Head, ...ReadonlyArray<Head>]) {
    const { deadline } = this
    const expected = heads.map(({ step }) => textOf(step)).join("\n")
    const search: Effect.Effect<Head, ScriptError> = Effect.flatMap(this.next, (arrival) => {
      const differences: Array<Placed<Pattern.Mismatch | undefined>> = []
      for (const head of heads) {
        const compared = this.compare(head.step, arrival)
        if (Result.isSuccess(compared)) {
          this.bindings = compared.success
          return Effect.succeed(head)
        }
        differences.push({ line: head.line, step: compared.failure })
      }
      if (this.isIgnored(arrival)) return search
      // The best match is the line whose pattern fits the message furthest.
      const depth = ({ step }: (typeof differences)[number]) => step?.path.length ?? -1
      const closest = differences.reduce((best, difference) => depth(difference) > depth(best) ? difference : best)
      return Effect.fail(this.fail(closest.line, {
        _tag: "Mismatch",
        expected,
        received: lineOf(arrival),
        mismatch: closest.step
      }))
    })
    return Effect.timeoutOrElse(search, {
      duration: deadline,
      orElse: () => Effect.fail(this.fail(heads[0].line, { _tag: "NotReceived", expected, afterMillis: deadline }))
    })
  }

  private silence(line: number, millis: number): Effect.Effect<void, ScriptError> {
    const interruption: Effect.Effect<Arrival> = Effect.filterOrElse(
      this.next,
      (arrival) => !this.isIgnored(arrival),
      () => interruption
    )
    return Effect.flatMap(Effect.timeoutOption(interruption, millis), (arrived) =>
      Option.isNone(arrived)
        ? Effect.void
        : Effect.fail(this.fail(line, { _tag: "Unexpected", received: lineOf(arrived.value) })))
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
          while (head?.step._tag === "Send") {
            yield* this.send({ line: head.line, step: head.step })
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
      case "Send":
        return this.send({ line, step })
      case "SendEnd":
        return Effect.suspend(() => {
          this.recorded.push({ entry: undefined, line: "→ end" })
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

  /** Fails if a message has arrived that no line expects. */
  readonly leftovers = (line: number): Effect.Effect<void, ScriptError> =>
    Effect.gen({ self: this }, function*() {
      for (const arrival of yield* Queue.clear(this.connection.arrivals)) {
        yield* this.record(arrival)
        if (arrival._tag === "Ended" || this.isIgnored(arrival)) continue
        return yield* this.fail(line, { _tag: "Unexpected", received: lineOf(arrival) })
      }
    })
}

/**
 * Connects and plays a script: sends its messages, and compares received messages with its expectations. After the last
 * line the connection stays open until the scope closes.
 *
 * Messages arrive in the order of the script, except for those of a block of any order. There the first line that fits
 * takes the message, so put narrower lines first. A message that no line expects is an error, unless the script ignores
 * it. At the end of the script only messages that have already arrived are checked. End the script with `silence` or `←
 * end` if no message may follow.
 *
 * The script can be either side. If each request of the client has a stream of its own, a response of a scripted server
 * uses the stream of its request, and progress that of the request with its token. Other messages use the stream of the
 * latest unanswered request, or else the standalone stream.
 *
 * Fails with a `ScriptError` if the conversation differs from the script, with a `TranscriptError` if the text is not a
 * transcript, and with a `TransportError` if connecting fails. Times are those of the `Clock`: under `TestClock` the
 * test controls them.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { ScriptedPeer } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const server = ServerSession.layerMemory({
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
