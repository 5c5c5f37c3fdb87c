/** The generator of scripts. */
import { generators } from "@effect-mcp/testing/internal"
import * as Arbitrary from "effect/Arbitrary"
import { type Command, commands, type Script } from "./Script.ts"

const [
  initialize,
  call,
  repeat,
  answer,
  cancel,
  resume,
  listen,
  subscribe,
  setLevel,
  remove,
  breaking,
  intrude,
  pass,
  start,
  stop,
  kill,
  pause,
  proceed,
  setClock,
  store,
  outage,
  cut,
  mend,
  network
] = commands

/** Each kind of command, and how often it is drawn compared with the others. A failing one shrinks to the first. */
const kinds: ReadonlyArray<readonly [weight: number, commands: Arbitrary.Arbitrary<Command>]> = [
  [18, Arbitrary.schema(call)],
  [22, Arbitrary.schema(pass)],
  [3, Arbitrary.schema(initialize)],
  [2, Arbitrary.schema(repeat)],
  [7, Arbitrary.schema(answer)],
  [2, Arbitrary.schema(cancel)],
  [5, Arbitrary.schema(resume)],
  [2, Arbitrary.schema(listen)],
  [2, Arbitrary.schema(subscribe)],
  [2, Arbitrary.schema(setLevel)],
  [2, Arbitrary.schema(remove)],
  [3, Arbitrary.schema(breaking)],
  [2, Arbitrary.schema(intrude)],
  [4, Arbitrary.schema(start)],
  [3, Arbitrary.schema(stop)],
  [6, Arbitrary.schema(kill)],
  [6, Arbitrary.schema(pause)],
  [6, Arbitrary.schema(proceed)],
  [2, Arbitrary.schema(setClock)],
  [6, Arbitrary.schema(store)],
  [2, Arbitrary.schema(outage)],
  [1, Arbitrary.schema(cut)],
  [1, Arbitrary.schema(mend)],
  [5, Arbitrary.schema(network)]
]

type Numbered<Member extends string> = Extract<Command, { readonly [Name in Member]: unknown }>

/** Most commands are about the first session. Those at a process find the first two more often. */
const clients = generators.oneOf<Numbered<"client">["client"]>(0, 0, 0, 1)
const slots = generators.oneOf<Numbered<"slot">["slot"]>(0, 0, 0, 1, 1, 2)

const [first = Arbitrary.schema(call), ...others] = kinds.flatMap(([weight, kind]) =>
  Array.from({ length: weight }, () => kind)
)

const single: Arbitrary.Arbitrary<ReadonlyArray<Command>> = Arbitrary.map(
  Arbitrary.all({ command: generators.choose(first, ...others), client: clients, slot: slots }),
  ({ client, command, slot }) => {
    const placed = "slot" in command ? { ...command, slot } : command
    return ["client" in placed ? { ...placed, client } : placed]
  }
)

type Of<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>

/** The owner of the session stands still or dies beside a request, and another process is asked for the session. */
const lostOwner: Arbitrary.Arbitrary<ReadonlyArray<Command>> = Arbitrary.map(
  Arbitrary.all({
    tool: Arbitrary.schema(call.fields.tool),
    what: generators.oneOf<"Pause" | "Kill">("Pause", "Pause", "Kill"),
    operations: generators.upTo(3),
    isAfter: generators.oneOf(false, true),
    other: generators.oneOf<Of<"Call">["slot"]>(1, 1, 2),
    millis: generators.oneOf<Of<"Pass">["millis"]>(1200, 2300, 2300, 5500),
    later: generators.oneOf<Of<"Pass">["millis"]>(20, 300, 1200),
    next: Arbitrary.schema(call.fields.tool)
  }),
  ({ isAfter, later, millis, next, operations, other, tool, what }): ReadonlyArray<Command> => [
    { _tag: "Call", client: 0, slot: 0, tool },
    { _tag: what, slot: 0, operations, isAfter },
    { _tag: "Pass", millis },
    { _tag: "Call", client: 0, slot: other, tool: next },
    { _tag: "Pass", millis: later },
    { _tag: "Continue", slot: 0 },
    { _tag: "Call", client: 0, slot: 0, tool: next }
  ]
)

/** The owner of a session stands still, stops or dies beside a call that goes on elsewhere, and its question. */
const lostCall: Arbitrary.Arbitrary<ReadonlyArray<Command>> = Arbitrary.map(
  Arbitrary.all({
    begins: generators.oneOf<Of<"Pass">["millis"]>(20, 300, 300, 1200),
    what: generators.oneOf<"Pause" | "Kill" | "Stop">("Pause", "Kill", "Kill", "Stop"),
    operations: generators.upTo(3),
    isAfter: generators.oneOf(false, true),
    isAnsweredBefore: generators.oneOf(false, true),
    other: generators.oneOf<Of<"Call">["slot"]>(1, 1, 2),
    millis: generators.oneOf<Of<"Pass">["millis"]>(20, 1200, 2300, 2300, 5500),
    use: generators.oneOf<"Answer" | "Resume">("Answer", "Resume"),
    later: generators.oneOf<Of<"Pass">["millis"]>(20, 300, 1200)
  }),
  (
    { begins, isAfter, isAnsweredBefore, later, millis, operations, other, use, what }
  ): ReadonlyArray<Command> => {
    const answer = { _tag: "Answer", client: 0, slot: isAnsweredBefore ? 0 : other, which: "Last" } as const
    return [
      { _tag: "Call", client: 0, slot: 0, tool: "book" },
      { _tag: "Pass", millis: begins },
      what === "Stop" ? { _tag: what, slot: 0 } : { _tag: what, slot: 0, operations, isAfter },
      ...isAnsweredBefore ? [answer] : [],
      { _tag: "Pass", millis },
      use === "Answer" ? { ...answer, slot: other } : { _tag: "Resume", client: 0, slot: other, which: "Last" },
      { _tag: "Pass", millis: later },
      { _tag: "Continue", slot: 0 }
    ]
  }
)

/** The parts of a script, by which it shrinks. */
const part = generators.choose(single, ...Array.from({ length: 9 }, () => single), lostOwner, lostCall)

/** Generates scripts. */
export const arbitrary: Arbitrary.Arbitrary<Script> = Arbitrary.all({
  interleaving: generators.oneOf<Script["interleaving"]>("Fair", "Random"),
  seed: generators.upTo(999_999),
  storeMillis: generators.oneOf<Script["storeMillis"]>(0, 10, 10, 400),
  sleeps: generators.oneOf(false, false, true),
  processes: generators.oneOf<Script["processes"]>(2, 2, 3, 1),
  isOpen: generators.oneOf(true, true, true, true, false),
  commands: Arbitrary.map(Arbitrary.array(part, { minLength: 1, maxLength: 16 }), (parts) => parts.flat())
})
