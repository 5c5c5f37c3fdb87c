/** Errors that hosts show, with the official client that most of them use. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Effect from "effect/Effect"
import { type Case, type Cases, greeter, info, messageOf } from "./parts.ts"
import { work } from "./work.ts"

/** Starts a program of Node that consists of this text. */
const program = (text: string) =>
  new StdioClientTransport({ command: process.execPath, args: ["-e", text], stderr: "ignore" })

type Transport = StdioClientTransport | StreamableHTTPClientTransport

const connected = (transport: Transport) =>
  Effect.acquireRelease(Effect.sync(() => new Client(info)), (client) => Effect.promise(() => client.close())).pipe(
    Effect.tap((client) => {
      // The declarations of the SDK do not fit `exactOptionalPropertyTypes`.
      const fitting: Pick<Transport, "start" | "send" | "close"> = transport
      return Effect.tryPromise({ try: () => client.connect(fitting), catch: (error) => error })
    })
  )

const failed = (transport: Transport): Case => messageOf(connected(transport))

export const hostCases: Cases = {
  "MCP error -32000: Connection closed": failed(program("process.exit(1)")),
  "Unexpected token '…', \"…\"... is not valid JSON": Effect.gen(function*() {
    const transport = yield* Effect.acquireRelease(
      Effect.sync(() => program("console.log('Server started on stdio'); setTimeout(() => {}, 60000)")),
      (started) => Effect.promise(() => started.close())
    )
    return yield* Effect.callback<string>((resume) => {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- The SDK has no `addEventListener`.
      transport.onerror = ({ message }) => resume(Effect.succeed(message))
      void transport.start()
    })
  }),
  "MCP error -32001: Request timed out": Effect.flatMap(
    work,
    (url) =>
      Effect.flatMap(
        connected(new StreamableHTTPClientTransport(new URL(url))),
        (client) =>
          messageOf(Effect.tryPromise({
            try: () => client.callTool({ name: "wait" }, undefined, { timeout: 300 }),
            catch: (error) => error
          }))
      )
  ),
  "Streamable HTTP error: Error POSTing to endpoint: …": Effect.flatMap(
    greeter,
    (url) => failed(new StreamableHTTPClientTransport(new URL("/", url)))
  )
}
