import { SocketServer } from "@effect-mcp/transport/node"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as EffectSocketServer from "effect/socket/SocketServer"
import * as fs from "node:fs"
import { until } from "../support/process.ts"
import { hostOf, tools } from "../support/server.ts"
import { openSession } from "../support/unixServer.ts"

it.live("a server over TCP probes its clients with keep-alive", () =>
  Effect.gen(function*() {
    const layer = SocketServer.layer().pipe(
      Layer.provideMerge(NodeSocketServer.layer({ port: 0, host: "127.0.0.1", allowHalfOpen: true })),
      Layer.provideMerge(hostOf(tools({}), {}))
    )
    const { address } = Context.get(yield* Layer.build(layer), EffectSocketServer.SocketServer)
    if (address._tag === "UnixPathAddress") return assert.fail("no port")
    const client = yield* openSession({ port: address.port, host: "127.0.0.1" })
    const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0")
    const ends = `0100007F:${hex(address.port)} 0100007F:${hex(client.socket.localPort)}`
    // Only Linux shows which timer runs for a connection: 02 is that of `SO_KEEPALIVE`.
    const isProbed = () =>
      fs.readFileSync("/proc/net/tcp", "latin1").split("\n").some((row) =>
        row.includes(ends) && row.trim().split(/ +/)[5]?.startsWith("02:") === true
      )
    if (process.platform === "linux") yield* until(isProbed)
  }))
