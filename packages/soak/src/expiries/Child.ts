/** A child process that calls the server, as its parent knows it. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { expiryProgram } from "../childProgram.ts"
import type { Counts } from "../Subject.ts"
import { type Unexpected, unexpected } from "../Unexpected.ts"
import type { Kind, Places } from "./Program.ts"

/** A question of the parent. The child answers each. */
export type Question =
  | { readonly id: number; readonly _tag: "Begin"; readonly kind: Kind; readonly account: string }
  | { readonly id: number; readonly _tag: "End"; readonly account: string }
  | { readonly id: number; readonly _tag: "Heap" | "Measure" }

/** An answer of the child: numbers by name, or the problem. The answer with the id 0 means that it is ready. */
export interface Answer {
  readonly id: number
  readonly result?: Counts
  readonly problem?: string
}

/** The child. */
export interface Child {
  /** Lets the child call the server for an account. */
  readonly begin: (kind: Kind, account: string) => Effect.Effect<void, Unexpected>
  /** Ends the calls for an account, and returns their number. Fails if one of them has failed. */
  readonly end: (account: string) => Effect.Effect<number, Unexpected>
  /** Returns the counts of the child. */
  readonly measure: Effect.Effect<Counts, Unexpected>
  /** Returns the bytes of its heap after a garbage collection. */
  readonly heap: Effect.Effect<number, Unexpected>
}

type Without<A> = A extends unknown ? Omit<A, "id"> : never

class Dialogue {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Deferred.Deferred<Counts, Unexpected>>()
  #last = 0

  constructor(process: ChildProcess) {
    this.#process = process
    process.on("message", (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      if (waiting === undefined) return
      Deferred.doneUnsafe(
        waiting,
        answer.problem === undefined
          ? Effect.succeed(answer.result ?? {})
          : Effect.fail(unexpected(`a child process: ${answer.problem}`))
      )
    })
    process.once("exit", (code) => {
      const exited = Effect.fail(unexpected(`a child process has exited with ${code}`))
      for (const waiting of this.#waiting.values()) Deferred.doneUnsafe(waiting, exited)
    })
  }

  /** Completes when the child is ready. */
  get ready(): Effect.Effect<Counts, Unexpected> {
    return this.#answer(0)
  }

  ask(question: Without<Question>): Effect.Effect<Counts, Unexpected> {
    return Effect.suspend(() => {
      const id = ++this.#last
      const answer = this.#answer(id)
      this.#process.send({ ...question, id })
      return answer
    })
  }

  #answer(id: number): Effect.Effect<Counts, Unexpected> {
    const waiting = Deferred.makeUnsafe<Counts, Unexpected>()
    this.#waiting.set(id, waiting)
    return Deferred.await(waiting)
  }
}

/** Starts a child, which is killed when the scope closes. */
export const start = Effect.fnUntraced(function*(places: Places): Effect.fn.Return<Child, Unexpected, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [...process.execArgv, expiryProgram, JSON.stringify(places)], {
        stdio: ["ignore", "inherit", "inherit", "ipc"]
      })
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )
  const dialogue = new Dialogue(child)
  yield* dialogue.ready
  return {
    begin: (kind, account) => Effect.asVoid(dialogue.ask({ _tag: "Begin", kind, account })),
    end: (account) => Effect.map(dialogue.ask({ _tag: "End", account }), ({ calls }) => calls ?? 0),
    measure: dialogue.ask({ _tag: "Measure" }),
    heap: Effect.map(dialogue.ask({ _tag: "Heap" }), ({ heap }) => heap ?? 0)
  }
})
