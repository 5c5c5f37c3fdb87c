/** The references that a server reads when it starts, as the Layers of its groups were provided with them. */

import * as RequestStateSeal from "@effect-mcp/session/RequestStateSeal"
import * as UsedStates from "@effect-mcp/session/UsedStates"
import * as Context from "effect/Context"
import { RegistrationError } from "./RegistrationError.ts"

const names = { seal: "RequestStateSeal", used: "UsedStates" } as const

/** The values that the program has given; `undefined` for the default. */
interface Given {
  readonly seal: RequestStateSeal.RequestStateSeal | undefined
  readonly used: UsedStates.UsedStates | undefined
}

const givenIn = (context: Context.Context<never>): Given => ({
  seal: Context.getOrUndefined(context, RequestStateSeal.RequestStateSeal),
  used: Context.getOrUndefined(context, UsedStates.UsedStates)
})

/**
 * The seal and the used states of a server. A program gives them to the server or to the Layers of its groups. Without
 * this class, the server would not see the latter, and would use its default without a word.
 */
export class GivenReferences {
  readonly #ofServer: Given
  #given: Given
  /** The group that gave each reference that is not the server's own. */
  readonly #givers = new Map<keyof Given, string>()
  #isRead = false

  constructor(context: Context.Context<never>) {
    this.#given = this.#ofServer = givenIn(context)
  }

  /** Takes the references that a group was provided with. Throws if the server has others already. */
  take(group: string, context: Context.Context<never>): void {
    const given = givenIn(context)
    const before = this.#given
    this.#given = {
      seal: this.#chosen(group, "seal", before.seal, given.seal),
      used: this.#chosen(group, "used", before.used, given.used)
    }
  }

  /** Returns the context with the references, for a server that starts. Later groups cannot give it others. */
  addTo<R>(context: Context.Context<R>): Context.Context<R> {
    this.#isRead = true
    const { seal, used } = this.#given
    const sealed = seal === undefined ? context : Context.add(context, RequestStateSeal.RequestStateSeal, seal)
    return used === undefined ? sealed : Context.add(sealed, UsedStates.UsedStates, used)
  }

  /** Throws if a group has given a reference, for a server that cannot take it. */
  rejectAll(): void {
    for (const [member, group] of this.#givers) {
      const problem = `the handlers of a server without sessions cannot pass ${names[member]} on; ` +
        "provide it to the server, and not to the group"
      throw new RegistrationError({ group, problem })
    }
  }

  #chosen<Member extends keyof Given>(
    group: string,
    member: Member,
    before: Given[Member],
    given: Given[Member]
  ): Given[Member] {
    if (given === undefined || given === before || given === this.#ofServer[member]) return before
    const giver = this.#givers.get(member)
    if (this.#isRead || giver !== undefined) {
      const other = this.#isRead ? "the server has started with another one" : `the group "${giver}" with another one`
      const problem = `it was provided with a ${names[member]}, and ${other}; provide one to the server`
      throw new RegistrationError({ group, problem })
    }
    this.#givers.set(member, group)
    return given
  }
}
