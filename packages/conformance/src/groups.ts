/**
 * The groups for the server scenarios of the conformance suite, at all revisions. The suite expects
 * the names of the tools, prompts and resources, and most of their texts.
 */
import * as Layer from "effect/Layer"
import * as ClientRequestTools from "./groups/clientRequestTools.ts"
import * as ContentTools from "./groups/contentTools.ts"
import * as InputRequiredTools from "./groups/inputRequiredTools.ts"
import * as NotificationTools from "./groups/notificationTools.ts"
import * as Prompts from "./groups/prompts.ts"
import * as ReconnectionTool from "./groups/reconnectionTool.ts"
import * as Resources from "./groups/resources.ts"
import * as SchemaTools from "./groups/schemaTools.ts"
import * as StatelessTools from "./groups/statelessTools.ts"
import * as TaskTools from "./groups/taskTools.ts"

/** All groups of the server. */
export const groups = Layer.mergeAll(
  ContentTools.layer,
  NotificationTools.layer,
  ClientRequestTools.layer,
  SchemaTools.layer,
  ReconnectionTool.layer,
  Resources.layer,
  Prompts.layer,
  InputRequiredTools.layer,
  StatelessTools.layer,
  TaskTools.layer
)

/** The name and version of the server. */
export const info = { name: "effect-mcp-conformance", title: "Conformance", version: "0.1.0" }
