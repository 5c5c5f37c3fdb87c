/** The schemas of tools that providers of models get. */

import type { Tool } from "@effect-mcp/protocol"
import * as JsonDepth from "./JsonDepth.ts"

/** The greatest depth and length of a schema. A provider writes those of all tools into each request. */
const max = { levels: 64, characters: 65_536 }

/** Returns the reason why a provider does not get a tool with this schema, if there is one. */
export const problemOf = (schema: Tool.ObjectSchema): string | undefined =>
  JsonDepth.isDeeper(schema, max.levels)
    ? `its input schema has more than ${max.levels} levels`
    : JSON.stringify(schema).length > max.characters
    ? `its input schema has more than ${max.characters} characters`
    : undefined
