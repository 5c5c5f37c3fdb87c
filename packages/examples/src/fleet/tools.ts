/**
 * The tools and the resources of each process of the fleet. They know nothing of other processes.
 */
import { Logging } from "@effect-mcp/protocol"
import { McpGroup, McpRequest, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"

const closed = Context.make(Tool.OpenWorld, false)

const reading = closed.pipe(Context.add(Tool.Readonly, true), Context.add(Tool.Idempotent, true))

const Place = McpResource.template("place", {
  uri: "fleet://{name}",
  description: "A resource of any name, which clients can subscribe to",
  mimeType: "text/plain"
})

const Fleet = McpGroup.make(
  "fleet",
  Tool.make("echo", {
    description: "Returns the text.",
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String
  }).annotateMerge(reading),
  Tool.make("slow", {
    description: "Takes this time, and reports progress every 100 ms.",
    parameters: Schema.Struct({ ms: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600_000 })) }),
    success: Schema.String
  }).annotateMerge(reading),
  Tool.make("ask", {
    description: "Asks the user, and returns the question and the answer.",
    parameters: Schema.Struct({ question: Schema.String }),
    success: Schema.Struct({ question: Schema.String, answer: Schema.String })
  }).annotateMerge(closed),
  Tool.make("who", {
    description: "Returns the id of the process that runs the tool.",
    success: Schema.String
  }).annotateMerge(reading),
  Tool.make("touch", {
    description: "Changes a resource: its subscribers are notified, at whichever process they are.",
    parameters: Schema.Struct({ uri: Schema.String }),
    success: Schema.String
  }).annotateMerge(closed),
  Tool.make("book", {
    description: "Books a journey: charges it, asks the user, and books it. It survives the death of its process.",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ city: Schema.String, seat: Schema.String, process: Schema.String })
  }).annotateMerge(closed).annotate(McpTool.Task, { support: "forbidden", resumable: true }),
  Tool.make("charges", {
    description: "Returns the number of charges for a city.",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Int
  }).annotateMerge(reading),
  Tool.make("log", {
    description: "Sends a log message.",
    parameters: Schema.Struct({ level: Schema.Literals(Logging.levels), text: Schema.String }),
    success: Schema.String
  }).annotateMerge(closed),
  Place
)

/** The time between two steps of progress. */
const stepMillis = 100

const slow = Effect.fnUntraced(function*(ms: number) {
  for (let passed = 0; passed < ms; passed += stepMillis) {
    yield* Effect.sleep(Math.min(stepMillis, ms - passed))
    yield* McpRequest.progress({ progress: Math.min(passed + stepMillis, ms), total: ms })
  }
  return `${ms} ms`
})

const Answer = Schema.Struct({ answer: Schema.String })

/** The charges for journeys: a file that all processes of the fleet share, as the world outside is. */
class Charges {
  readonly #file: string | undefined
  readonly #own: Array<string> = []

  constructor(file: string | undefined) {
    this.#file = file
  }

  add(city: string): void {
    if (this.#file === undefined) this.#own.push(city)
    else fs.appendFileSync(this.#file, `${JSON.stringify(city)}\n`)
  }

  count(city: string): number {
    if (this.#file === undefined) return this.#own.filter((one) => one === city).length
    const text = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, "utf8") : ""
    return text.split("\n").filter((line) => line === JSON.stringify(city)).length
  }
}

/**
 * Books a journey. When its process dies, the handler starts again in another one. What was done by `once` is not done
 * again, and a question that was asked is not asked again.
 */
const book = Effect.fnUntraced(function*(city: string, charges: Charges) {
  yield* McpRequest.progress({ progress: 1, total: 3 })
  yield* McpRequest.once("charge", { success: Schema.Void }, Effect.sync(() => charges.add(city)))
  yield* McpRequest.progress({ progress: 2, total: 3 })
  const { seat } = yield* McpRequest.elicit(`Which seat to ${city}?`, Schema.Struct({ seat: Schema.String }))
  yield* McpRequest.progress({ progress: 3, total: 3 })
  return { city, seat, process: String(process.pid) }
})

/** Options of the tools. */
export interface Options {
  /** The file of the charges. Default: each process keeps its own ones in memory. */
  readonly charges: string | undefined
}

/** The tools and the resources. */
export const layer = (options: Options) =>
  Fleet.toLayer(Effect.fnUntraced(function*(handlers) {
    const server = yield* McpServer.McpServer
    const charges = new Charges(options.charges)
    return handlers
      .tool("book", ({ city }) => book(city, charges))
      .tool("charges", ({ city }) => Effect.sync(() => charges.count(city)))
      .tool("echo", ({ text }) => Effect.succeed(text))
      .tool("slow", ({ ms }) => slow(ms))
      .tool(
        "ask",
        ({ question }) => Effect.map(McpRequest.elicit(question, Answer), ({ answer }) => ({ question, answer }))
      )
      .tool("who", () => Effect.sync(() => String(process.pid)))
      .tool("touch", ({ uri }) => Effect.as(server.resourceUpdated(uri), uri))
      .tool("log", ({ level, text }) => Effect.as(McpRequest.log({ level, logger: "fleet", data: text }), text))
      .template("place", ({ name }) => Effect.succeed(name), { subscribable: () => Effect.succeed(true) })
  }))
