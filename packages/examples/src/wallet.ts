/**
 * A server that keeps the balances of accounts, with a planted bug: a transfer reads the balances, waits for its
 * ledger, and then writes them. Two transfers at the same time can lose money. `test/wallet.test.ts` finds the bug with
 * a simulation, and shows that the corrected server passes:
 *
 * ```sh
 * npx vitest run packages/examples/test/wallet.test.ts
 * ```
 */
import { McpError } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

/** The names of the accounts. */
export const Account = Schema.Literals(["ada", "bob"])

/** The input of a deposit. */
export const Deposit = Schema.Struct({ to: Account, amount: Schema.Literals([1, 5]) })

/** The input of a transfer. */
export const Transfer = Schema.Struct({ from: Account, to: Account, amount: Schema.Literals([1, 5]) })

/** The balance of each account. */
export type Balances = { readonly [Name in typeof Account.Type]: number }

/** The balances of a new wallet. */
export const empty: Balances = { ada: 0, bob: 0 }

/** Returns the balances after a deposit. */
export const deposited = (balances: Balances, { amount, to }: typeof Deposit.Type): Balances => ({
  ...balances,
  [to]: balances[to] + amount
})

/** Returns the balances after a transfer. A transfer of more than the balance changes nothing. */
export const transferred = (balances: Balances, { amount, from, to }: typeof Transfer.Type): Balances =>
  balances[from] < amount
    ? balances
    : deposited({ ...balances, [from]: balances[from] - amount }, { to, amount })

const decode = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, input: unknown) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(input), ({ message }) => McpError.invalidParams(message))

/** Creates a wallet. With `isAtomic`, a transfer is one step. Without it, the wallet has the planted bug. */
export const make = (isAtomic: boolean) =>
  Effect.gen(function*() {
    const balances = yield* Ref.make(empty)
    const ledger = Effect.sleep("20 millis")
    return ServerSession.handlers({
      "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
        if (name === "deposit") {
          const deposit = yield* decode(Deposit, input)
          yield* Ref.update(balances, (now) => deposited(now, deposit))
        } else if (name === "transfer") {
          const transfer = yield* decode(Transfer, input)
          if (isAtomic) {
            yield* ledger
            yield* Ref.update(balances, (now) => transferred(now, transfer))
          } else {
            const before = yield* Ref.get(balances)
            yield* ledger
            yield* Ref.set(balances, transferred(before, transfer))
          }
        }
        return { content: [], structuredContent: { ...yield* Ref.get(balances) } }
      })
    })
  })
