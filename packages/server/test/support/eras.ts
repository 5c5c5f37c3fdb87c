/** Tests of groups with clients of each era. */
import { Revision } from "@effect-mcp/protocol"
import { describe } from "@effect/vitest"
import { connect, handshake } from "./connect.ts"
import { serve } from "./hosted.ts"

/** The clients of one era. */
export interface Era {
  /** Whether the clients are those of revision 2026-07-28. */
  readonly isModern: boolean
  /** The option of a client that speaks only the revisions of this era. */
  readonly client: { readonly revisions: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>] }
  /** {@link connect}, with a client of this era unless the options of the client say otherwise. */
  readonly connect: typeof connect
  /** {@link serve}, with clients of this era unless their options say otherwise. */
  readonly serve: typeof serve
}

const make = (client: Era["client"], isModern: boolean): Era => ({
  isModern,
  client,
  connect: (groups, options = {}) => connect(groups, { ...options, client: { ...client, ...options.client } }),
  serve: (groups, options) => serve(groups, { ...client, ...options })
})

/** Describes what groups do for clients of both eras, and runs its tests once for those of each. */
export const describeForBothEras = (name: string, tests: (era: Era) => void): void => {
  describe(`${name} (for a client with a handshake)`, () => {
    tests(make(handshake, false))
  })
  describe(`${name} (for a client of 2026-07-28)`, () => {
    tests(make({ revisions: Revision.modern }, true))
  })
}
