/** The generator of scripts. */
import { generators } from "@effect-mcp/testing/internal"
import * as Arbitrary from "effect/Arbitrary"
import { type Command, commands, type Script } from "./Script.ts"

const [
  call,
  callElsewhere,
  ,
  start,
  close,
  kill,
  suspend,
  resume,
  login,
  logout,
  person,
  issuer,
  store,
  revoke,
  revokeAccess,
  migrate
] = commands

type Of<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>

/** Passes of time, most of which let an access token expire: nothing happens before. */
const pass: Arbitrary.Arbitrary<Of<"Pass">> = Arbitrary.map(
  generators.oneOf<Of<"Pass">["millis"]>(20, 500, 3000, 12_000, 46_000, 46_000, 61_000, 61_000, 61_000),
  (millis) => ({ _tag: "Pass", millis })
)

/** Each kind of command, and how often it is drawn compared with the others. A failing one shrinks to the first. */
const kinds: ReadonlyArray<readonly [weight: number, commands: Arbitrary.Arbitrary<Command>]> = [
  [14, Arbitrary.schema(call)],
  [16, pass],
  [4, Arbitrary.schema(start)],
  [5, Arbitrary.schema(close)],
  [5, Arbitrary.schema(kill)],
  [3, Arbitrary.schema(suspend)],
  [2, Arbitrary.schema(resume)],
  [3, Arbitrary.schema(login)],
  [1, Arbitrary.schema(logout)],
  [3, Arbitrary.schema(person)],
  [6, Arbitrary.schema(issuer)],
  [6, Arbitrary.schema(store)],
  [2, Arbitrary.schema(revoke)],
  [3, Arbitrary.schema(revokeAccess)],
  [1, Arbitrary.schema(migrate)],
  [1, Arbitrary.schema(callElsewhere)]
]

/** The slots of commands. Most scripts have fewer processes than there are slots, so the first are drawn more often. */
const slots = generators.oneOf<Of<"Call">["slot"]>(0, 0, 0, 1, 1, 2)

const [first = Arbitrary.schema(call), ...others] = kinds.flatMap(([weight, kind]) =>
  Array.from({ length: weight }, () => kind)
)

/** Generates scripts. */
export const arbitrary: Arbitrary.Arbitrary<Script> = Arbitrary.all({
  interleaving: generators.oneOf<Script["interleaving"]>("Fair", "Random"),
  seed: generators.upTo(999_999),
  rotation: generators.oneOf<Script["rotation"]>("Rotating", "Rotating", "Graceful", "Fixed"),
  storeMillis: generators.oneOf<Script["storeMillis"]>(0, 20, 1200),
  confirms: generators.oneOf(false, true),
  isSignedIn: generators.oneOf(true, true, true, false),
  processes: generators.oneOf<Script["processes"]>(1, 2, 3),
  commands: Arbitrary.array(
    Arbitrary.map(
      Arbitrary.all({ command: generators.choose(first, ...others), slot: slots }),
      ({ command, slot }): Command => "slot" in command ? { ...command, slot } : command
    ),
    { minLength: 1, maxLength: 16 }
  )
})
