import type { Subject } from "../Subject.ts"

/** The endings that one of the sides chooses, where a session has one connection: the other side sees its end. */
export const chosenEndings = {
  "client-close": { client: "Requested", server: "PeerEnded" },
  "server-close": { client: "PeerEnded", server: "Requested" },
  leave: { client: "Requested", server: "PeerEnded" },
  "cancel-handshake": { client: "Requested", server: "PeerEnded" },
  "cancel-call": { client: "Requested", server: "PeerEnded" },
  deadline: { client: "Requested", server: "PeerEnded" }
} as const satisfies Subject["endings"]
