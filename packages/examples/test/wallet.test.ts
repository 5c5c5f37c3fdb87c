/** A simulation that finds the planted bug of a server (`wallet.ts`). */
import { Simulation } from "@effect-mcp/testing/simulation"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Wallet from "../src/wallet.ts"

const wallet = (isAtomic: boolean) =>
  Simulation.make({
    server: Wallet.make(isAtomic),
    model: Wallet.empty,
    concurrency: 2,
    commands: (command) => ({
      deposit: command({
        input: Wallet.Deposit,
        run: ({ client, input }) => client.callTool("deposit", input),
        next: ({ input, model }) => Wallet.deposited(model, input)
      }),
      transfer: command({
        input: Wallet.Transfer,
        run: ({ client, input }) => client.callTool("transfer", input),
        next: ({ input, model }) => Wallet.transferred(model, input)
      }),
      balances: command({
        run: ({ client }) => client.callTool("balances"),
        check: ({ model, result }) => assert.deepStrictEqual(result.structuredContent, { ...model })
      })
    })
  })

it.effect(
  "finds the transfer that loses money, and shrinks the conversation to at most four commands",
  () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Simulation.check(wallet(false)))
      assert.strictEqual(error._tag, "ConversationFailedError")
      if (error._tag !== "ConversationFailedError") return
      assert.strictEqual(error.law, "the model explains every result")
      const commands = error.steps.filter((step) => step.startsWith("client "))
      assert.isAtMost(commands.length, 4, error.report)
      assert.match(error.report, /what happened/)
      assert.include(error.report, `to reproduce it, pass { seed: ${error.seed}, runs: 1 } to Simulation.check`)
    }),
  { timeout: 60_000 }
)

it.effect("a wallet whose transfers are atomic passes", () =>
  Effect.gen(function*() {
    const { commands, conversations } = yield* Simulation.check(wallet(true), { runs: 100 })
    assert.strictEqual(conversations, 100)
    assert.hasAllKeys(commands, ["deposit", "transfer", "balances"])
  }), { timeout: 60_000 })
