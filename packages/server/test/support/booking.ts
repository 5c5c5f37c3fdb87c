/** A workflow that books a journey, for tests. */
import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"

class SoldOut extends Schema.TaggedError<SoldOut>()("SoldOut", { city: Schema.String }) {
  override get message() {
    return `nothing is left to ${this.city}`
  }
}

/** Charges, and asks for a seat. To Rome it waits for ever, and the other cities of the code end in other ways. */
export const Book = Workflow.make("book", {
  payload: { city: Schema.String },
  success: Schema.Struct({ receipt: Schema.Int, seat: Schema.String }),
  error: Schema.Union([McpWorkflow.QuestionError, SoldOut]),
  idempotencyKey: ({ city }) => city,
  // A call in another process than the workflow finds the result by its own looks.
  suspendedRetrySchedule: Schedule.spaced("1 hour")
}).annotate(Tool.Title, "Book")

const Seat = Schema.Struct({ seat: Schema.String })

const never = DurableDeferred.make("never")

/** The numbers of the steps that the workflow has made. */
export interface Counts {
  charged: number
  refunded: number
  waiting: number
}

export const makeCounts = (): Counts => ({ charged: 0, refunded: 0, waiting: 0 })

/** The implementation of the workflow. */
export const live = (counts: Counts): Layer.Layer<never, never, WorkflowEngine.WorkflowEngine> =>
  Book.toLayer(({ city }) =>
    Effect.gen(function*() {
      yield* McpWorkflow.progress({ progress: 1, message: "charging" })
      const charge = Activity.make({
        name: "charge",
        success: Schema.Int,
        execute: Effect.andThen(
          McpWorkflow.progress({ progress: 2, message: "charged" }),
          Effect.sync(() => ++counts.charged)
        )
      })
      const receipt = yield* Book.withCompensation(charge, () => Effect.sync(() => void counts.refunded++))
      if (city === "Nowhere") return yield* new SoldOut({ city })
      if (city === "Atlantis") return yield* Effect.die("secret")
      if (city === "Rome") {
        counts.waiting++
        yield* DurableDeferred.await(never)
      }
      if (city === "Oslo") {
        const seats = yield* Effect.all([
          McpWorkflow.elicit("out", "Which seat there?", Seat),
          McpWorkflow.elicit("back", "Which seat back?", Seat),
          McpWorkflow.elicit("home", "Which seat home?", Seat)
        ], { concurrency: "unbounded" })
        return { receipt, seat: seats.map(({ seat }) => seat).join() }
      }
      const { seat } = yield* McpWorkflow.elicit("seat", `Which seat to ${city}?`, Seat)
      return { receipt, seat }
    })
  )

/** Builds an engine in memory with the implementation of the workflow, and counts what it does. */
export const makeBooking = Effect.gen(function*() {
  const counts = makeCounts()
  const engine = yield* Layer.build(Layer.provideMerge(live(counts), Layer.fresh(WorkflowEngine.layerMemory)))
  return { counts, engine: Layer.succeedContext(engine) }
})
