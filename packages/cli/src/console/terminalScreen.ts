/**
 * The screen of a person: one stream of printed lines, and below it the prompt that is open, or the bar of a call. What
 * is printed appears above, and the prompt is drawn again below it.
 */
import * as PlainText from "@effect-mcp/client/PlainText"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import * as Terminal from "effect/Terminal"
import * as Frame from "./frame.ts"
import * as Keyboard from "./keyboard.ts"
import { Screen } from "./screen.ts"

/** The lines at the bottom of the terminal. */
class Bottom {
  /** The frame of the open prompt, or nothing. */
  #frame = ""
  #bar = ""

  /** The number of columns. A terminal without a size reports none. */
  readonly columns = (): number => {
    const { columns } = process.stdout
    return columns > 0 ? columns : 80
  }

  #write(text: string): void {
    process.stdout.write(text)
  }

  get #shown(): string {
    return this.#frame === "" ? this.#bar : this.#frame
  }

  #erase(): string {
    return this.#shown === "" ? "" : Frame.erase(this.#shown, this.columns())
  }

  /** Prints text above the bottom. */
  print(text: string): void {
    this.#write(`${this.#erase()}${PlainText.text(text)}\n${this.#shown}`)
  }

  set bar(line: string) {
    const erased = this.#frame === "" ? this.#erase() : ""
    this.#bar = line
    if (this.#frame === "") this.#write(erased + line)
  }

  /** Draws what a prompt displays: a frame, or something without a form, such as a bell. */
  display(text: string): void {
    if (!Frame.isVisible(text)) return this.#write(text)
    this.#write(this.#frame === "" ? this.#erase() + text : text)
    // The last frame of a prompt ends its line. It stays, and belongs to what is printed.
    this.#frame = text.endsWith("\n") ? "" : Frame.withoutErasure(text)
    if (this.#frame === "") this.#write(this.#bar)
  }

  /** Removes the frame of a prompt that ended without an answer. */
  leave(): void {
    if (this.#frame === "") return
    const erased = this.#erase()
    this.#frame = ""
    this.#write(erased + this.#bar)
  }
}

const make = Effect.gen(function*() {
  const keyboard = yield* Keyboard.make
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const bottom = new Bottom()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      bottom.leave()
      bottom.bar = ""
    })
  )
  const terminal = (canEscape: boolean) =>
    Terminal.make({
      columns: Effect.sync(bottom.columns),
      rows: Effect.sync(() => process.stdout.rows ?? 24),
      size: Effect.die(new Error("prompts do not follow the size of the terminal")),
      readLine: Effect.fail(new Terminal.QuitError({})),
      readInput: keyboard.keys(canEscape),
      display: (text) => Effect.sync(() => bottom.display(text))
    })
  const person = yield* Semaphore.make(1)
  /** Closed while an effect has the person to itself, or waits for that. */
  const isIdle = yield* Latch.make(true)
  let exclusive = 0
  let makeRoom: Deferred.Deferred<void> | undefined

  const print = (text: string) => Effect.sync(() => bottom.print(text))
  const askWith = (canEscape: boolean): Screen["Service"]["ask"] => (prompt) =>
    prompt.pipe(
      Effect.ensuring(Effect.sync(() => bottom.leave())),
      Effect.provideService(Terminal.Terminal, terminal(canEscape)),
      Effect.provideContext(context)
    )
  const exclusively: Screen["Service"]["exclusively"] = (effect) =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        exclusive++
        if (makeRoom !== undefined) Deferred.doneUnsafe(makeRoom, Effect.void)
        return isIdle.close
      }),
      () => person.withPermits(1)(effect),
      () => Effect.suspend(() => --exclusive === 0 ? isIdle.open : Effect.void)
    )
  const askIdle: Screen["Service"]["askIdle"] = (prompt) =>
    Effect.gen(function*() {
      while (true) {
        yield* isIdle.await
        const left = yield* Deferred.make<void>()
        makeRoom = left
        const answer = yield* person.withPermits(1)(
          Effect.raceFirst(
            Effect.map(askWith(false)(prompt), Option.some),
            Effect.as(Deferred.await(left), Option.none())
          )
        ).pipe(Effect.ensuring(Effect.sync(() => {
          makeRoom = undefined
        })))
        if (Option.isSome(answer)) return answer.value
      }
    })
  const untilCancelled: Screen["Service"]["untilCancelled"] = (effect) =>
    Effect.suspend(() => {
      const cancelled = Deferred.makeUnsafe<void>()
      keyboard.onCancel(() => Deferred.doneUnsafe(cancelled, Effect.void))
      return Effect.raceFirst(
        Effect.map(effect, Option.some),
        Effect.as(Deferred.await(cancelled), Option.none())
      ).pipe(Effect.ensuring(Effect.sync(() => keyboard.onCancel(undefined))))
    })

  return Screen.of({
    print,
    note: print,
    setBar: (line) =>
      Effect.sync(() => {
        bottom.bar = line ?? ""
      }),
    columns: bottom.columns,
    canAsk: true,
    ask: askWith(true),
    exclusively,
    askIdle,
    untilCancelled
  })
})

export const layer: Layer.Layer<Screen, never, FileSystem.FileSystem | Path.Path> = Layer.effect(Screen, make)
