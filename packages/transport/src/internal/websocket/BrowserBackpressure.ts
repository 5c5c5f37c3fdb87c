import * as Effect from "effect/Effect"
import type { WebSocketLike } from "effect/socket/Socket"
import type { SocketControl } from "./SocketControl.ts"

/** How often it is looked whether there is room: nobody calls. */
const lookMillis = 10

const isOpen = ({ readyState }: WebSocketLike): boolean => readyState === 1

const waiting = (webSocket: WebSocketLike): number =>
  "bufferedAmount" in webSocket && typeof webSocket.bufferedAmount === "number" ? webSocket.bufferedAmount : 0

/** The wire of a WebSocket of which nothing is known but what browsers have: it can neither ping nor be cut off. */
export const make = (webSocket: WebSocketLike): SocketControl => ({
  waiting: () => waiting(webSocket),
  isOpen: () => isOpen(webSocket),
  onReceived: undefined,
  readInTurns: undefined,
  onRoom: (listener) => {
    const timer = setTimeout(listener, lookMillis)
    return () => clearTimeout(timer)
  },
  together: (write) => write(),
  pulse: undefined,
  gone: Effect.callback<void>((resume) => {
    if (webSocket.readyState === 3) return resume(Effect.void)
    const onClose = () => resume(Effect.void)
    webSocket.addEventListener("close", onClose, { once: true })
    return Effect.sync(() => webSocket.removeEventListener("close", onClose))
  }),
  cut: () => {}
})
