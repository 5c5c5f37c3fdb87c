/**
 * A command of a simulation: something that a client does with the server, its input, and what must hold of its result.
 *
 * @stability unstable
 */
import type { ClientSession } from "@effect-mcp/session"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type { Action, Outcome } from "../internal/simulation/Action.ts"
import { trust } from "../internal/trust.ts"

/**
 * The generator of a command's input: a schema, from whose type values are drawn, or an `Arbitrary`.
 *
 * @category models
 */
export type Generator<Input> =
  | Arbitrary.Arbitrary<Input>
  | Schema.ConstraintCodec<Input, unknown, unknown, unknown>

/**
 * The description of a command. Write `run` before `check` and `next`, so that the type of the result is inferred.
 *
 * @category models
 */
export interface Spec<Model, Input, Result, R = never> {
  /** The generator of the input. A command without one has no input. */
  readonly input?: Generator<Input> | undefined
  /**
   * The precondition. The simulation skips a command if it does not hold. With commands in flight, it has to hold in
   * every order in which they may take effect.
   */
  readonly when?: ((command: { readonly model: Model; readonly input: Input }) => boolean) | undefined
  /**
   * Executes the command as a client. A failure is a violation, unless a fault of the conversation explains it. Then
   * the outcome is unknown: the model has to explain the other results with or without the command. To expect a
   * failure, recover from it here.
   */
  readonly run: (
    command: { readonly client: ClientSession.ClientSessionShape; readonly input: Input }
  ) => Effect.Effect<Result, unknown, R>
  /**
   * Compares the result with the model before the command. `false` and text are violations, and so is an exception,
   * such as that of an assertion.
   */
  readonly check?:
    | ((command: { readonly model: Model; readonly input: Input; readonly result: Result }) =>
      | boolean
      | string
      | void)
    | undefined
  /**
   * Returns the model after the command, and does not mutate `model`. `result` is `undefined` if the outcome is
   * unknown.
   */
  readonly next?:
    | ((command: { readonly model: Model; readonly input: Input; readonly result: Result | undefined }) => Model)
    | undefined
}

const TypeId = "~@effect-mcp/testing/Command"

/**
 * A command of any simulation.
 *
 * @category models
 */
export interface AnyCommand {
  readonly [TypeId]: typeof TypeId
  readonly hasPrecondition: boolean
}

/**
 * A command of a simulation with this model, which needs these services.
 *
 * @category models
 */
export interface Command<Model, out R = never> extends AnyCommand {
  readonly actions: Arbitrary.Arbitrary<Action<Model, R>>
}

const arbitraryOf = <Input>(generator: Generator<Input> | undefined): Arbitrary.Arbitrary<Input> => {
  // Nothing but `unknown` is inferred for the input of a command without a generator.
  if (generator === undefined) return Arbitrary.Constant(trust(undefined))
  return Arbitrary.isArbitrary(generator) ? generator : Arbitrary.schema(generator)
}

const problemOf = (check: () => boolean | string | void): string | undefined => {
  try {
    const outcome = check()
    return outcome === false ? "its check returned false" : typeof outcome === "string" ? outcome : undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

/**
 * Creates a command. {@link Simulation.make} passes this function on with the type of its model.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/protocol"
 * import { Command } from "@effect-mcp/testing/simulation"
 * import * as Schema from "effect/Schema"
 *
 * const deposit = Command.make<number>()({
 *   input: Schema.Struct({ amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })) }),
 *   run: ({ client, input }) => client.callTool("deposit", input),
 *   check: ({ input, model, result }) => Tool.structuredMembers(result)["balance"] === model + input.amount,
 *   next: ({ input, model }) => model + input.amount
 * })
 *
 * export const hasPrecondition = deposit.hasPrecondition // => false
 * ```
 *
 * @category constructors
 */
export const make = <Model>() =>
<Input, Result, R = never>(
  { check, input, next, run, when }: Spec<Model, Input, Result, R>
): Command<Model, R> => {
  const action = (input: Input): Action<Model, R> => ({
    input,
    isAllowed: (model) => when === undefined || when({ model, input }),
    next: (model) => next === undefined ? model : next({ model, input, result: undefined }),
    run: (client) =>
      Effect.map(Effect.exit(Effect.suspend(() => run({ client, input }))), (exit): Outcome<Model> => {
        if (Exit.isFailure(exit)) return { _tag: "Failed", cause: exit.cause }
        const result = exit.value
        return {
          _tag: "Returned",
          result,
          problem: (model) => check === undefined ? undefined : problemOf(() => check({ model, input, result })),
          next: (model) => next === undefined ? model : next({ model, input, result })
        }
      })
  })
  return {
    [TypeId]: TypeId,
    hasPrecondition: when !== undefined,
    actions: Arbitrary.map(arbitraryOf(input), action)
  }
}
