import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TRN-01",
    at: "WebSocketWriter.send",
    original: "this.#queue.send(encoded.success)",
    broken: "this.#queue.send(`[${encoded.success}]`)",
    test: "packages/transport/test/websocket/server/messages.test.ts",
    name: "are sent as unmasked text frames, one for each message",
    hangs: true
  },
  {
    id: "TRN-02",
    at: "WebSocketWriter.send",
    original: "this.#queue.send(encoded.success)",
    broken: "this.#queue.send(`[${encoded.success}]`)",
    test: "packages/transport/test/bothEras.test.ts",
    name: "over WebSocket speak 2026-07-28",
    hangs: true
  },
  {
    id: "TRN-04",
    at: "OutgoingFrame.encodeWith",
    original: "text: string | undefined = JSON.stringify(frame)",
    broken: "text: string | undefined = JSON.stringify(frame, undefined, 1)",
    test: "packages/transport/test/socket/SocketServer.test.ts",
    name: "are read in pieces of any size"
  }
]
