import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TRN-01",
    file: "packages/transport/src/internal/websocket/WebSocketWriter.ts",
    original: "this.#queue.send(encoded.success)",
    broken: "this.#queue.send(`[${encoded.success}]`)",
    test: "packages/transport/test/websocket/server/messages.test.ts",
    name: "are sent as unmasked text frames, one for each message",
    hangs: true
  },
  {
    id: "TRN-02",
    file: "packages/transport/src/internal/websocket/WebSocketWriter.ts",
    original: "this.#queue.send(encoded.success)",
    broken: "this.#queue.send(`[${encoded.success}]`)",
    test: "packages/transport/test/bothEras.test.ts",
    name: "over WebSocket speak 2026-07-28",
    hangs: true
  },
  {
    id: "TRN-04",
    file: "packages/transport/src/internal/shared/OutgoingFrame.ts",
    original: "JSON.stringify(frame)\n",
    broken: "JSON.stringify(frame, undefined, 1)\n",
    test: "packages/transport/test/unix/UnixSocketServer.test.ts",
    name: "are read in pieces of any size"
  }
]
