import { CloseReason } from "@effect-mcp/protocol"
import type { SessionHost } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { makeHost, openSession } from "./support/hosts.ts"
import { initialize, initialized, performHandshake, settled } from "./support/sessions.ts"

const sessionLimit = 4
const principalLimit = 2
const initializeSeconds = 30
const handshakeSeconds = 40
const graceSeconds = 3
const evictAnonymousSeconds = 20
const idleSeconds = 60
const ageSeconds = 120

const which = Schema.Literals([0, 0, 1, 1, 2, 3])

/** The commands for a host, and for its sessions by number. */
const Command = Schema.Union([
  Schema.Struct({ do: Schema.Literal("open"), principal: Schema.Literals(["ada", "grace", "anonymous"]) }),
  Schema.Struct({
    do: Schema.Literals(["initialize", "handshake", "touch", "hold", "release", "close", "end"]),
    which
  }),
  Schema.Struct({ do: Schema.Literals(["handshake", "touch", "hold", "hold"]), which }),
  Schema.Struct({ do: Schema.Literal("advance"), seconds: Schema.Literals([5, 10, 25, 30, 55, 60]) })
])

type Command = typeof Command.Type | { readonly do: "drain" }

/** Some lists contain a `drain`. The commands after it find no sessions. */
const commands = Arbitrary.map(
  Arbitrary.all([
    Arbitrary.array(Arbitrary.schema(Command), { minLength: 10, maxLength: 40 }),
    Arbitrary.schema(Schema.Boolean),
    Arbitrary.array(Arbitrary.schema(Command), { maxLength: 5 })
  ]),
  ([before, drains, after]): ReadonlyArray<Command> => drains ? [...before, { do: "drain" }, ...after] : before
)

/** A session in the model. Times are in seconds. */
interface Known {
  readonly number: number
  readonly principal: string
  readonly openedAt: number
  usedAt: number
  stage: "awaiting" | "negotiated" | "operating"
  /** The time at which the stage of the handshake began. */
  stageAt: number
  /** Grows with each use. The session with the least is evicted first. */
  turn: number
  held: number
}

/** The model of a host: a list of its sessions. */
class Model {
  now = 0
  draining = false
  known: ReadonlyArray<Known> = []
  #turns = 0
  #anonymousAt: number | undefined

  turn(): number {
    return ++this.#turns
  }

  full(principal: string): SessionHost.HostFullScope | undefined {
    if (this.draining) return "draining"
    const same = this.known.filter((one) => one.principal === principal).length
    if (principal !== "anonymous" && same >= principalLimit) return "principal"
    return this.known.length >= sessionLimit ? "host" : undefined
  }

  /** Returns the victim for a newcomer of this principal when the host is full. */
  victim(principal: string): Known | undefined {
    const first = (which: (known: Known) => boolean, after: number): Known | undefined => {
      const [one] = this.known.filter((known) => known.held === 0 && which(known)).toSorted((a, b) => a.turn - b.turn)
      if (one === undefined) return undefined
      return (one.stage === "operating" ? one.usedAt : one.stageAt) + after <= this.now ? one : undefined
    }
    const isOwn = (known: Known) => known.principal === principal
    const operates = ({ stage }: Known) => stage === "operating"
    const ownUnused = () => first((known) => isOwn(known) && operates(known), graceSeconds)
    if (this.full(principal) === "principal") {
      return first((known) => isOwn(known) && !operates(known), graceSeconds) ?? ownUnused()
    }
    const unfinished = first((known) => !operates(known), graceSeconds)
    if (unfinished !== undefined) return unfinished
    const isAnonymous = (known: Known) => known.principal === "anonymous" && operates(known)
    if (principal !== "anonymous") return ownUnused() ?? first(isAnonymous, graceSeconds)
    return this.#anonymousAt === this.now ? undefined : first(isAnonymous, evictAnonymousSeconds)
  }

  rejects(principal: string): SessionHost.HostFullScope | undefined {
    const full = this.full(principal)
    return full === "draining" || this.victim(principal) === undefined ? full : undefined
  }

  evict(principal: string): void {
    if (this.full(principal) === undefined) return
    const victim = this.victim(principal)
    if (victim === undefined) return
    const both = principal === "anonymous" && victim.principal === "anonymous" && victim.stage === "operating"
    if (both) this.#anonymousAt = this.now
    this.remove(victim.number)
  }

  remove(number: number): void {
    this.known = this.known.filter((one) => one.number !== number)
  }

  find(number: number): Known | undefined {
    return this.known.find((one) => one.number === number)
  }

  advance(seconds: number): void {
    this.now += seconds
    const stageSeconds = { awaiting: initializeSeconds, negotiated: handshakeSeconds, operating: ageSeconds }
    this.known = this.known.filter(({ held, openedAt, stage, stageAt, usedAt }) =>
      this.now < openedAt + ageSeconds && this.now < stageAt + stageSeconds[stage] &&
      (held > 0 || this.now < usedAt + idleSeconds)
    )
  }
}

const runCommands = Effect.fnUntraced(function*(commands: ReadonlyArray<Command>) {
  const host = yield* makeHost({}, {
    sessions: {
      max: sessionLimit,
      maxPerPrincipal: principalLimit,
      handshakeTimeout: `${handshakeSeconds} seconds`,
      anonymousEvictionTimeout: `${evictAnonymousSeconds} seconds`,
      maxAnonymousEvictionsPerSecond: 1,
      idleTimeout: `${idleSeconds} seconds`,
      maxAge: `${ageSeconds} seconds`
    },
    limits: { initializeTimeout: `${initializeSeconds} seconds` }
  })
  const model = new Model()
  const startedAt = yield* Clock.currentTimeMillis
  const opened: Array<Effect.Success<ReturnType<typeof openSession>>> = []
  const releases: Array<Array<() => void>> = []

  for (const command of commands) {
    switch (command.do) {
      case "open": {
        const { principal } = command
        const rejected = model.rejects(principal)
        const opening = openSession(host, principal === "anonymous" ? {} : { principal: { id: principal } })
        if (rejected === undefined) {
          model.evict(principal)
          const { now, known } = model
          model.known = [
            ...known,
            {
              number: opened.length,
              principal,
              openedAt: now,
              usedAt: now,
              stage: "awaiting",
              stageAt: now,
              turn: model.turn(),
              held: 0
            }
          ]
          opened.push(yield* opening)
          releases.push([])
        } else {
          const error = yield* Effect.flip(opening)
          assert.strictEqual(error._tag === "HostFullError" ? error.scope : error._tag, rejected)
        }
        break
      }
      case "advance":
        model.advance(command.seconds)
        yield* TestClock.adjust(`${command.seconds} seconds`)
        break
      case "drain":
        model.draining = true
        model.known = []
        yield* host.drain
        break
      default: {
        // The newest sessions get the most commands.
        const number = opened.length - 1 - command.which
        const session = opened[number]
        const known = model.find(number)
        if (session === undefined) break
        const { hosted, link, raw } = session
        if (command.do === "initialize" && known?.stage === "awaiting") {
          known.stage = "negotiated"
          known.stageAt = model.now
          yield* raw.send(initialize())
          yield* raw.response
        } else if (command.do === "handshake" && known !== undefined && known.stage !== "operating") {
          if (known.stage === "awaiting") yield* performHandshake(raw)
          else yield* raw.send(initialized)
          known.stage = "operating"
          known.stageAt = model.now
          known.turn = model.turn()
        } else if (command.do === "touch") {
          if (known !== undefined) {
            known.usedAt = model.now
            if (known.stage === "operating") known.turn = model.turn()
          }
          hosted.touch()
        } else if (command.do === "hold") {
          if (known !== undefined) {
            known.usedAt = model.now
            known.held++
          }
          releases[number]?.push(hosted.hold())
        } else if (command.do === "release") {
          const release = releases[number]?.pop()
          if (known !== undefined && release !== undefined) {
            known.usedAt = model.now
            known.turn = model.turn()
            known.held--
          }
          release?.()
          release?.()
        } else if (command.do === "close") {
          model.remove(number)
          yield* hosted.close(CloseReason.requested)
        } else if (command.do === "end") {
          model.remove(number)
          link.endReading()
        }
      }
    }
    yield* settled
    const listed = yield* host.sessions
    assert.deepStrictEqual(
      listed.map(({ held, id, usedAt }) => ({ id, held, usedAt })),
      model.known.map(({ held, number, usedAt }) => ({
        id: opened[number]?.hosted.id,
        held,
        usedAt: startedAt + usedAt * 1000
      }))
    )
    for (const [number, { hosted, link }] of opened.entries()) {
      const isOpen = model.find(number) !== undefined
      assert.strictEqual(host.find(hosted.id), isOpen ? hosted : undefined)
      assert.strictEqual(link.isOpen(), isOpen)
    }
    const { retryAfterMillis, ...health } = yield* host.health
    if (health.accepting) assert.isUndefined(retryAfterMillis)
    assert.deepStrictEqual(health, {
      accepting: model.rejects("anonymous") === undefined,
      ready: !model.draining,
      draining: model.draining,
      sessions: model.known.length,
      handshaking: model.known.filter(({ stage }) => stage !== "operating").length,
      limit: sessionLimit
    })
  }
})

describe("a host under random commands", () => {
  // It runs for 2 seconds, and for more than the usual 20 on a machine with many other busy processes.
  it.effect("has the sessions, the health and the rejections of its model", () =>
    Effect.gen(function*() {
      const outcome = yield* Arbitrary.checkEffect(
        commands,
        (commands) => Effect.as(Effect.scoped(runCommands(commands)), true),
        { runs: 300 }
      )
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    }), { timeout: 60_000 })
})
