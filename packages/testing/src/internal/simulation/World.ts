/** The simulated world of one conversation: its runtime, its journal, and its connections. */

import type { MethodDefinition } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as SimulatedTransport from "../../SimulatedTransport.ts"
import * as VirtualRuntime from "../../VirtualRuntime.ts"
import type { Journal } from "./Journal.ts"
import * as Recorder from "./Recorder.ts"
import type { Setting } from "./Setting.ts"

type Role = MethodDefinition.Role

const sides = ["client", "server"] as const

/** A simulated connection: its wires, and the records and the scopes of its two ends. */
export interface Connection {
  readonly id: number
  readonly pair: SimulatedTransport.Pair
  readonly recorders: { readonly [Side in Role]: Recorder.Recorder }
  readonly scopes: { readonly [Side in Role]: Scope.Closeable }
}

/** An event of a conversation that disturbs a connection, or ends that. */
export type Disturbance =
  | { readonly _tag: "Stall" | "Recover"; readonly towards: Role }
  | { readonly _tag: "Cut" }

/** The world of one conversation. */
export class World<Command = never> {
  readonly runtime: VirtualRuntime.VirtualRuntime
  readonly journal: Journal<Command>
  /** All connections, in the order in which they were opened. */
  readonly connections: Array<Connection> = []
  readonly #setting: Setting

  constructor(setting: Setting) {
    this.#setting = setting
    this.runtime = VirtualRuntime.make(setting)
    this.journal = { entries: [], now: this.runtime.now, nonces: 0, runs: 0, steps: 0 }
  }

  /** Opens a connection with random decisions of its own. */
  connect(id = this.connections.length): Connection {
    const { faults, form, seed } = this.#setting
    const pair = Effect.runSync(Effect.provideService(
      SimulatedTransport.make({ seed: 2 * seed + id, faults, form }),
      Clock.Clock,
      this.runtime.clock
    ))
    const connection: Connection = {
      id,
      pair,
      recorders: {
        client: Recorder.make(this.journal, id, "client"),
        server: Recorder.make(this.journal, id, "server")
      },
      scopes: { client: Scope.makeUnsafe(), server: Scope.makeUnsafe() }
    }
    this.connections.push(connection)
    return connection
  }

  /** Gives a program one end of a connection, which is recorded, and the scope of this end. */
  attach<A, E, R>(
    { pair, recorders, scopes }: Connection,
    side: Role,
    program: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, Exclude<Exclude<R, Transport.Transport>, Scope.Scope>> {
    return program.pipe(
      Effect.provideService(Transport.Transport, recorders[side].transport(pair[side])),
      Scope.provide(scopes[side])
    )
  }

  /** Disturbs a connection, or ends that. */
  disturb({ pair }: Connection, disturbance: Disturbance): void {
    if (disturbance._tag === "Cut") return this.runtime.act(pair.cut)
    const wire = disturbance.towards === "client" ? pair.toClient : pair.toServer
    this.runtime.act(disturbance._tag === "Stall" ? wire.stall : wire.recover)
  }

  /** Makes all wires recover. */
  recover(): void {
    for (const connection of this.connections) {
      for (const towards of sides) this.disturb(connection, { _tag: "Recover", towards })
    }
  }

  /** Closes both ends of all connections, and then other scopes, and advances the clock by this time. */
  close(millis: number, ...others: ReadonlyArray<Scope.Closeable>): void {
    for (const { scopes } of this.connections) {
      for (const side of sides) this.runtime.start(Scope.close(scopes[side], Exit.void))
    }
    for (const scope of others) this.runtime.start(Scope.close(scope, Exit.void))
    this.runtime.advance(millis)
  }
}
