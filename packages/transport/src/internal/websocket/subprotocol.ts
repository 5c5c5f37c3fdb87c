/** The name of this protocol among those that are spoken over WebSockets. */
export const subprotocol = "mcp"
