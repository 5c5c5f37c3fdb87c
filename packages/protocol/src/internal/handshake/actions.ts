/** The actions of a session in response to events. */
import type { EventSource } from "./events.ts"

/**
 * The actions that a row may have, by the source of its event.
 *
 * @category models
 */
export interface ActionsBySource {
  readonly local: "Send" | "Hold"
  readonly peer:
    | "Answer"
    | "Deliver"
    | "Match"
    | "Keep"
    | "Establish"
    | "Adopt"
    | "Release"
    | "ReleaseAndDeliver"
    | "Reject"
    | "RejectParams"
    | "Ignore"
    | "Finish"
  readonly lifecycle: "End" | "Finish" | "Ignore"
}

/**
 * The action of a session in response to an event.
 *
 * - `Send`: the message is sent. `Hold`: it waits until the peer is ready.
 * - `Answer`: the session responds by itself. `Deliver`: a handler or a subscriber receives the message.
 * - `Match`: the message completes a pending request.
 * - `Keep`: the message waits until the session is established, and is then delivered before any other.
 * - `Establish`: the client sends `notifications/initialized`, once.
 * - `Adopt`: the client uses the profile of the server, and sends nothing.
 * - `Release`: held requests are sent. `ReleaseAndDeliver`: held requests are sent, then the message is delivered.
 * - `Reject`: the request fails with -32600. `RejectParams`: it fails with -32602.
 * - `Ignore`: the message is dropped, and an event reports it.
 * - `End`: the session starts to end. `Finish`: it has ended.
 *
 * @category models
 */
export type Action = ActionsBySource[EventSource]
