/** A call that may become a task while its handler runs, in the revision in which the server decides. */

import type { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { BecomingRun, Beginning, TaskServer } from "@effect-mcp/session/internalEngine"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as StoredTask from "../../StoredTask.ts"
import * as TaskState from "../runs/TaskState.ts"
import { trust } from "../trust.ts"
import * as ForwardedContext from "./ForwardedContext.ts"
import * as ResumedCall from "./ResumedCall.ts"
import { TaskContext } from "./TaskContext.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"

type Handling<R> = Effect.Effect<unknown, McpError.McpError, R>

/** The call, and the server that serves it. */
export interface BecomingDependencies {
  readonly endpoint: TaskEndpoint
  readonly server: TaskServer
  readonly message: JsonRpc.Request
  readonly run: BecomingRun
  readonly isResumable: boolean
  /** Called before the task is the result of the call, because the type of the result depends on it. */
  readonly becameTask: () => void
}

/** One call. */
export class Becoming {
  readonly #dependencies: BecomingDependencies
  readonly #handler: Fiber.Fiber<unknown, unknown>
  readonly #call: RequestContext["Service"]
  /** The context of the call, and after the call has become a task that of the task. */
  readonly #context: RequestContext["Service"]
  /** The context of the task, when there is one. */
  #task: TaskContext | undefined
  #isTask = false

  /** `handler` is the fiber that serves the call. */
  constructor(dependencies: BecomingDependencies, handler: Fiber.Fiber<unknown, unknown>) {
    this.#dependencies = dependencies
    this.#handler = handler
    // Each request of a server has this service.
    this.#call = Context.getUnsafe(handler.context, RequestContext)
    const one = Semaphore.makeUnsafe(1)
    const begin = Effect.suspend(() =>
      this.#isTask ? Effect.succeed(true) : Effect.map(this.#become(), (became) => this.#isTask = became)
    )
    // Once, even if the handler and the timer begin at the same time.
    this.#context = ForwardedContext.make(() => this.#task ?? this.#call, {
      becomeTask: Effect.uninterruptible(one.withPermits(1)(begin)),
      isOwnError: (error) => this.#call.isOwnError(error) || this.#task?.isOwnError(error) === true
    })
  }

  /** Serves the call. It becomes a task when its handler says so, or after a time. */
  serve(handling: Handling<unknown>, begins: Exclude<Beginning, "atOnce">): Handling<unknown> {
    const served = Effect.provideService(handling, RequestContext, this.#context)
    if (begins === "explicitly") return Effect.scoped(served)
    const later = Effect.delay(Effect.ignoreCause(this.#context.becomeTask), begins)
    return Effect.scoped(Effect.andThen(Effect.forkChild(later, { startImmediately: true }), served))
  }

  /** Lets the call become a task. Returns `false` if it has ended meanwhile. */
  #become(): Effect.Effect<boolean, McpError.McpError> {
    const { isResumable, run } = this.#dependencies
    if (!run.isOpen) return Effect.succeed(false)
    const isStored = Deferred.makeUnsafe<void>()
    // A step that ends from now on is not among those that are stored with the task. It waits for the task.
    if (isResumable) {
      run.steps.persist = (key, result) =>
        Effect.andThen(
          Deferred.await(isStored),
          Effect.suspend(() => this.#task?.persist({ key, result }) ?? Effect.void)
        )
    }
    const became = Effect.flatMap(this.#start(), (task) =>
      Effect.andThen(
        isResumable ? this.#storeAnswers(task.id) : Effect.void,
        Effect.suspend(() => this.#detach(task))
      ))
    return Effect.onExit(became, () => Effect.sync(() => Deferred.doneUnsafe(isStored, Exit.void)))
  }

  /** Stores the task, whose run is the handler that runs already. */
  #start(): Effect.Effect<StoredTask.TaskState, McpError.McpError> {
    const { endpoint: { runs, tasks }, isResumable, message: { method, params }, run: { steps }, server } =
      this.#dependencies
    return runs.start(
      {
        principal: this.#call.principal?.id,
        request: { method, params },
        ttlMillis: undefined,
        // Only another run needs the steps.
        ...(isResumable
          ? {
            steps: [...steps.results].map(([key, result]) => ({ key, result })),
            resumption: ResumedCall.resumptionOf(this.#call)
          }
          : undefined)
      },
      (task) => {
        const scope = Scope.makeUnsafe()
        this.#task = new TaskContext(this.#call, { server, tasks, task, runs, messages: undefined, scope, steps })
        // The handler of a call fails with nothing else.
        const running = trust<Handling<never>>(Fiber.join(this.#handler))
        return Effect.onInterrupt(running, () => Fiber.interrupt(this.#handler)).pipe(
          Effect.onExit((exit) => Scope.close(scope, exit))
        )
      }
    )
  }

  /** Stores the answers that the call has had before it became a task, for another run. It may go on to have more. */
  #storeAnswers(id: string, stored = 0): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { endpoint: { runs, tasks }, run } = this.#dependencies
      const questions = this.#task?.answered(run.answers.slice(stored), stored) ?? []
      if (questions.length === 0) return Effect.void
      const change = tasks.change(
        id,
        (task) => runs.isOurs(task) ? { questions: [...task.questions, ...questions] } : undefined
      )
      return Effect.andThen(
        // Another run asks again what could not be stored.
        Effect.ignoreCause(change),
        this.#storeAnswers(id, stored + questions.length)
      )
    })
  }

  /** Ends the call with the task, while the handler goes on. */
  #detach(task: StoredTask.TaskState): Effect.Effect<boolean> {
    const { becameTask, endpoint: { tasks }, run } = this.#dependencies
    // The call has had its result meanwhile, and the client never learns the id.
    if (!run.isOpen) return Effect.as(Effect.ignoreCause(tasks.remove(task.id)), false)
    becameTask()
    run.detach(
      TaskState.extension(task),
      (method, params, key) => Effect.suspend(() => this.#task?.ask(method, params, key) ?? Effect.interrupt)
    )
    return Effect.succeed(true)
  }
}
