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
  }
]
