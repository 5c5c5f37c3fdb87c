/** The members of `ClientSession` that are the same in all revisions. */

import { type Handshake, MethodTable } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as RequestError from "../../RequestError.ts"
import type { Sender } from "../engine/Sender.ts"
import * as SessionRuntime from "../engine/SessionRuntime.ts"
import type { ClientEra } from "./ClientEra.ts"
import type { ClientSessionShape } from "./ClientSessionShape.ts"
import * as Paging from "./Paging.ts"

const { requests } = MethodTable

/** Makes the members of a session. */
export const make = (
  runtime: SessionRuntime.SessionRuntime<Handshake.ClientState>,
  sender: Sender,
  era: ClientEra
): ClientSessionShape => {
  const { limits } = runtime
  return {
    profile: era.server,
    ...SessionRuntime.session(runtime),
    ...era.members,
    request: (name, params, options) => sender.request(requests[name], params, options),
    extension: (row, params, options) => sender.request(row, params, options),
    ping: (options) => Effect.asVoid(sender.request(requests.ping, {}, options)),
    listTools: (params, options) => sender.request(requests["tools/list"], params ?? {}, options),
    tools: Paging.list(sender, limits, requests["tools/list"], ({ tools }) => tools),
    callTool: (name, input, options) =>
      Effect.suspend(() =>
        era.requiresTask(name)
          ? Effect.fail(RequestError.make(requests["tools/call"].name, requiresTask(name)))
          : sender.request(
            requests["tools/call"],
            input === undefined ? { name } : { name, arguments: input },
            options
          )
      ),
    listResources: (params, options) => sender.request(requests["resources/list"], params ?? {}, options),
    resources: Paging.list(sender, limits, requests["resources/list"], ({ resources }) => resources),
    listResourceTemplates: (params, options) =>
      sender.request(requests["resources/templates/list"], params ?? {}, options),
    resourceTemplates: Paging.list(
      sender,
      limits,
      requests["resources/templates/list"],
      ({ resourceTemplates }) => resourceTemplates
    ),
    readResource: (uri, options) => sender.request(requests["resources/read"], { uri }, options),
    listPrompts: (params, options) => sender.request(requests["prompts/list"], params ?? {}, options),
    prompts: Paging.list(sender, limits, requests["prompts/list"], ({ prompts }) => prompts),
    getPrompt: (name, input, options) =>
      sender.request(requests["prompts/get"], input === undefined ? { name } : { name, arguments: input }, options),
    complete: (params, options) => sender.request(requests["completion/complete"], params, options),
    progress: (token, step) => sender.progress(token, step),
    send: (message) => sender.send(message)
  }
}

/** The reason why a tool cannot be called without a task, if its server has listed it (TSK-05). */
const requiresTask = (tool: string): RequestError.RequestErrorReason => ({
  _tag: "InvalidParams",
  problem: `the tool ${JSON.stringify(tool)} runs as a task only; use RemoteTasks, or tasks of McpClient`
})
