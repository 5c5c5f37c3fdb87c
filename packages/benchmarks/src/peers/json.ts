/**
 * Makes an in-memory transport of the official SDKs encode and parse every message, as `MemoryTransport` does by
 * default. Otherwise the SDKs pass objects by reference.
 */
export const throughJson = <Message, Options>(transport: {
  send: (message: Message, options?: Options) => Promise<void>
}): void => {
  const send = transport.send.bind(transport)
  transport.send = (message, options) => send(JSON.parse(JSON.stringify(message)), options)
}
