/**
 * The handlers for the server scenarios of the conformance suite, at the revisions with a handshake. The suite expects
 * the names of the tools, prompts and resources, and most of their texts.
 */
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as ClientRequestTools from "./handlers/clientRequestTools.ts"
import * as ContentTools from "./handlers/contentTools.ts"
import * as NotificationTools from "./handlers/notificationTools.ts"
import * as Prompts from "./handlers/prompts.ts"
import { reconnection } from "./handlers/reconnectionTool.ts"
import * as Resources from "./handlers/resources.ts"
import * as SchemaTools from "./handlers/schemaTools.ts"
import * as Tool from "./handlers/tool.ts"

/** The handlers of the server. */
export const handlers = ServerSession.handlers({
  ...Tool.handlers([
    ...ContentTools.tools,
    ...NotificationTools.tools,
    ...ClientRequestTools.tools,
    ...SchemaTools.tools,
    reconnection
  ]),
  ...Resources.handlers,
  ...Prompts.handlers
})

/** The options of the server. */
export const options: ServerSession.Options = {
  info: { name: "effect-mcp-conformance", title: "Conformance", version: "0.1.0" }
}
