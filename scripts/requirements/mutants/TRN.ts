import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TRN-01",
    file: "packages/transport/src/internal/websocket/WebSocketWriter.ts",
    original:
      "    const text = OutgoingFrame.encode(message)\n    if (typeof text !== \"string\") return Effect.fail(text)\n",
    broken:
      "    const encoded = OutgoingFrame.encode(message)\n    if (typeof encoded !== \"string\") return Effect.fail(encoded)\n    const text = `[${encoded}]`\n",
    test: "packages/transport/test/websocket/webSocketMessages.test.ts",
    name: "go as whole text frames, one message each, and are not masked",
    hangs: true
  }
]
