/** The official servers. */
import type { Peer } from "./conditions.ts"

export const peers: ReadonlyArray<Peer> = [
  {
    name: "official-v1",
    file: "offeringServerV1.ts",
    worded: (code, message) => `MCP error ${code}: ${message}`,
    misfit: -32603,
    notFound: -32002
  },
  {
    name: "official-v2",
    file: "offeringServerV2.ts",
    worded: (_, message) => message,
    misfit: -32602,
    notFound: -32602
  }
]
