import type { Subject } from "../Subject.ts"

/** The expected outcomes of endings by one side over a single connection, whose end the other side detects. */
export const chosenEndings = {
  "client-close": { client: "Requested", server: "PeerEnded" },
  "server-close": { client: "PeerEnded", server: "Requested" },
  "scope-close": { client: "Requested", server: "PeerEnded" },
  "cancel-handshake": { client: "Requested", server: "PeerEnded" },
  "cancel-call": { client: "Requested", server: "PeerEnded" },
  timeout: { client: "Requested", server: "PeerEnded" }
} as const satisfies Subject["endings"]
