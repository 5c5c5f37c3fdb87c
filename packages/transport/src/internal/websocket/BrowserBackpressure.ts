/** The control of a WebSocket with only the members that browsers have: no pings, and no way to destroy it. */
import * as Effect from "effect/Effect"
import type { WebSocketLike } from "effect/socket/Socket"
import type { SocketControl } from "./SocketControl.ts"

/** The interval at which the buffer is polled for room, because browsers emit no event. */
const pollMillis = 10

const isOpen = ({ readyState }: WebSocketLike): boolean => readyState === 1

const unsentBytes = (webSocket: WebSocketLike): number =>
  "bufferedAmount" in webSocket && typeof webSocket.bufferedAmount === "number" ? webSocket.bufferedAmount : 0

/** Creates the control of an open WebSocket. */
export const make = (webSocket: WebSocketLike): SocketControl => ({
  unsentBytes: () => unsentBytes(webSocket),
  isOpen: () => isOpen(webSocket),
  onReceived: undefined,
  setWaiting: undefined,
  onRoom: (listener) => {
    const timer = setTimeout(listener, pollMillis)
    return () => clearTimeout(timer)
  },
  batch: (write) => write(),
  pulse: undefined,
  closed: Effect.callback<void>((resume) => {
    if (webSocket.readyState === 3) return resume(Effect.void)
    const onClose = () => resume(Effect.void)
    webSocket.addEventListener("close", onClose, { once: true })
    return Effect.sync(() => webSocket.removeEventListener("close", onClose))
  }),
  destroy: () => {}
})
