/** How long messages over WebSocket may be where nobody says otherwise. */

interface Limits {
  readonly messageLimitBytes?: number | undefined
  readonly payloadLimitBytes?: number | undefined
}

/** The longest message to read. */
export const messageBytes = ({ messageLimitBytes = 4 * 1024 * 1024 }: Limits): number => messageLimitBytes

/** The longest message to receive at all: one that is only too long to be read shall not cost the connection. */
export const payloadBytes = (limits: Limits): number => limits.payloadLimitBytes ?? 4 * messageBytes(limits)
