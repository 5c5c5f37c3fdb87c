/** The header by which the record follows a request of a client from process to process. */
export const exchangeHeader = "x-exchange"
