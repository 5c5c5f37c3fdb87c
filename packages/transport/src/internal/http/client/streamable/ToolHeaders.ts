/** The headers that repeat arguments of listed tools, in revision 2026-07-28. */
import type { JsonRpc } from "@effect-mcp/protocol"
import { Excerpt, ParameterHeader } from "@effect-mcp/protocol/internal"
import type { Inbound, TransportEvent } from "@effect-mcp/session/Transport"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { responseIn } from "../responseIn.ts"

/** The bounds of the stored headers: of tools with headers, and of the characters of all headers. */
const maxTools = 4_096
const maxCharacters = 4_194_304

interface Stored {
  readonly headers: ReadonlyArray<ParameterHeader.ParameterHeader>
  readonly characters: number
}

const charactersIn = (name: string, headers: ReadonlyArray<ParameterHeader.ParameterHeader>): number =>
  headers.reduce(
    (sum, header) => sum + header.name.length + header.path.reduce((length, part) => length + part.length, 0),
    name.length
  )

/** Returns the tool in an item of a list, as far as it matters here. */
const toolIn = (item: unknown): { readonly name: string; readonly inputSchema: object } | undefined =>
  Predicate.hasProperty(item, "name") && typeof item.name === "string" &&
    Predicate.hasProperty(item, "inputSchema") && Predicate.isObject(item.inputSchema)
    ? { name: item.name, inputSchema: item.inputSchema }
    : undefined

/** The headers of the tools that the program has listed. The newest are stored. */
export class ToolHeaders {
  readonly #stored = new Map<string, Stored>()
  readonly #report: (event: TransportEvent) => void
  #characters = 0

  constructor(report: (event: TransportEvent) => void) {
    this.#report = report
  }

  /** Returns the headers of a call, or the reason why an argument cannot be one (SHE-24, SHE-25). */
  of({ method, params = {} }: JsonRpc.Request): Result.Result<{ readonly [name: string]: string }, string> {
    const { arguments: input, name } = params
    const stored = method === "tools/call" && typeof name === "string" ? this.#stored.get(name) : undefined
    return stored === undefined ? Result.succeed({}) : ParameterHeader.encode(stored.headers, input)
  }

  /**
   * Stores the headers of the tools in the response to `tools/list`. Returns the response without tools whose
   * annotations are invalid (SHE-26). It returns every other message itself.
   */
  listed(inbound: Inbound, id: JsonRpc.Request["id"]): Inbound {
    const { frame } = inbound
    const response = Result.isSuccess(frame) ? responseIn(frame.success, id) : undefined
    if (!Predicate.hasProperty(response, "result") || !Predicate.hasProperty(response.result, "tools")) return inbound
    const { result } = response
    const { tools } = response.result
    if (!Array.isArray(tools)) return inbound
    const valid = tools.filter((tool) => this.#store(tool))
    return valid.length === tools.length
      ? inbound
      : { ...inbound, frame: Result.succeed({ ...response, result: { ...result, tools: valid } }) }
  }

  /** Stores the headers of a tool. Returns `false` if its annotations are invalid. */
  #store(item: unknown): boolean {
    const tool = toolIn(item)
    if (tool === undefined) return true
    const { inputSchema, name } = tool
    this.#delete(name)
    const headers = ParameterHeader.of(inputSchema)
    if (Result.isFailure(headers)) {
      this.#report({ _tag: "ToolDropped", tool: Excerpt.of(name), problem: headers.failure })
      return false
    }
    if (headers.success.length === 0) return true
    const characters = charactersIn(name, headers.success)
    this.#stored.set(name, { headers: headers.success, characters })
    this.#characters += characters
    for (const oldest of this.#stored.keys()) {
      if (this.#stored.size <= maxTools && this.#characters <= maxCharacters) break
      this.#delete(oldest)
    }
    return true
  }

  #delete(name: string): void {
    this.#characters -= this.#stored.get(name)?.characters ?? 0
    this.#stored.delete(name)
  }
}
