/** The steps of a handler that must not run again, by their keys. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { trust } from "../trust.ts"

/** The encoded result of a step: of its success or, if the step has a schema for it, of its failure. */
export type StepResult =
  | { readonly success: unknown }
  | { readonly failure: unknown }

/** The schemas of a step. */
export interface StepSchemas {
  readonly success: Schema.Constraint
  readonly error?: Schema.Constraint | undefined
}

/** Whether a fiber is inside of a step. */
const inside = Context.Reference<boolean>("@effect-mcp/session/OnceSteps/inside", { defaultValue: () => false })

/** Dies inside of a step: a question there would wait for ever, because the run is not cut while a step runs. */
export const outside = <A, E, R>(method: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(inside, (isInside) =>
    isInside
      ? Effect.die(new Error(`${method} inside of RequestContext.once: put the question before or after the step`))
      : effect)

const codecOf = (schema: Schema.Constraint): Schema.Codec<unknown, unknown> =>
  // The types of `once` admit only schemas without services.
  trust<Schema.Codec<unknown, unknown>>(Schema.toCodecJson(trust<Schema.Top>(schema)))

/** Encodes a value, or dies with an error that names the step. */
const encode = (key: string, schema: Schema.Constraint, value: unknown): Effect.Effect<unknown> =>
  Effect.catch(
    Effect.suspend(() => Schema.encodeUnknownEffect(codecOf(schema))(value)),
    (problem) =>
      Effect.die(new Error(`the result of once(${JSON.stringify(key)}) cannot be encoded: ${problem.message}`))
  )

const decode = (key: string, schema: Schema.Constraint, value: unknown): Effect.Effect<unknown> =>
  Effect.catch(
    Effect.suspend(() => Schema.decodeUnknownEffect(codecOf(schema))(value)),
    (problem) =>
      Effect.die(new Error(`the result of once(${JSON.stringify(key)}) cannot be decoded: ${problem.message}`))
  )

/** The bounds of the steps of one request, and what they report. */
export interface OnceStepsDependencies {
  /** The characters that all results may have together, as JSON. */
  readonly maxCharacters: number
  /** Called when a step starts or ends. */
  readonly changed?: (running: number) => void
}

/** The steps of one request. */
export class OnceSteps {
  readonly results: Map<string, StepResult>
  /** Stores a result outside of this process, before the handler receives it. */
  persist: ((key: string, result: StepResult) => Effect.Effect<void>) | undefined
  readonly #dependencies: OnceStepsDependencies
  readonly #running = new Set<string>()
  #characters = 0

  constructor(dependencies: OnceStepsDependencies, results: Iterable<readonly [string, StepResult]> = []) {
    this.#dependencies = dependencies
    this.results = new Map(results)
    for (const [key, result] of this.results) this.#characters += key.length + JSON.stringify(result).length
  }

  /** The number of steps that run now. */
  get running(): number {
    return this.#running.size
  }

  /** Runs a step, or returns its result if it has run before. */
  run(key: string, schemas: StepSchemas, step: Effect.Effect<unknown, unknown>): Effect.Effect<unknown, unknown> {
    return Effect.suspend(() => {
      const known = this.results.get(key)
      if (known !== undefined) return this.#replayed(key, schemas, known)
      if (this.#running.has(key)) {
        return Effect.die(new Error(`once(${JSON.stringify(key)}) runs already: give each step a key of its own`))
      }
      this.#running.add(key)
      this.#dependencies.changed?.(this.#running.size)
      return Effect.onExit(
        Effect.flatMap(
          Effect.exit(Effect.provideService(step, inside, true)),
          (exit) => this.#sealed(key, schemas, exit)
        ),
        () =>
          Effect.sync(() => {
            this.#running.delete(key)
            this.#dependencies.changed?.(this.#running.size)
          })
      )
    })
  }

  /** Stores the encoded result, and returns it as a replay would. */
  #sealed(
    key: string,
    schemas: StepSchemas,
    exit: Exit.Exit<unknown, unknown>
  ): Effect.Effect<unknown, unknown> {
    if (Exit.isSuccess(exit)) {
      return Effect.flatMap(
        encode(key, schemas.success, exit.value),
        (success) => this.#store(key, schemas, { success })
      )
    }
    const { error } = schemas
    const failure = Exit.findErrorOption(exit)
    return error === undefined || failure._tag === "None"
      ? exit
      : Effect.flatMap(encode(key, error, failure.value), (failure) => this.#store(key, schemas, { failure }))
  }

  #store(key: string, schemas: StepSchemas, result: StepResult): Effect.Effect<unknown, unknown> {
    const { maxCharacters } = this.#dependencies
    this.#characters += key.length + JSON.stringify(result).length
    if (this.#characters > maxCharacters) {
      return Effect.die(
        new Error(
          `the results of once have more than ${maxCharacters} characters together with that of ` +
            `${JSON.stringify(key)}: return less, or raise \`limits.maxRequestStateCharacters\``
        )
      )
    }
    this.results.set(key, result)
    const replayed = this.#replayed(key, schemas, result)
    return this.persist === undefined ? replayed : Effect.andThen(this.persist(key, result), replayed)
  }

  #replayed(key: string, { error, success }: StepSchemas, result: StepResult): Effect.Effect<unknown, unknown> {
    if ("success" in result) return decode(key, success, result.success)
    return error === undefined
      ? Effect.die(new Error(`once(${JSON.stringify(key)}) has no longer a schema for its failure`))
      : Effect.flatMap(decode(key, error, result.failure), Effect.fail)
  }
}
