/** The official feature servers. */
import type { Peer } from "./conditions.ts"

export const peers: ReadonlyArray<Peer> = [
  {
    name: "official-v1",
    file: "featureServerV1.ts",
    errorMessage: (code, message) => `MCP error ${code}: ${message}`,
    invalidParamsCode: -32603,
    notFoundCode: -32002
  },
  {
    name: "official-v2",
    file: "featureServerV2.ts",
    errorMessage: (_, message) => message,
    invalidParamsCode: -32602,
    notFoundCode: -32602
  }
]
