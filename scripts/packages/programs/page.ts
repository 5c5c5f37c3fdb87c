/** A client for web pages: it calls a tool of a server over HTTP. */
import { StreamableHttpClient } from "@effect-mcp/transport"
import * as greeting from "./greeting.ts"

/** Returns the content of the greeting. */
export const greet = (url: string, name: string): Promise<unknown> =>
  greeting.over(StreamableHttpClient.layerFetch({ url }), name)
