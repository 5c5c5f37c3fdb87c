/** The principals of the clients, by their tokens. */
export const principals: ReadonlyMap<string, { readonly id: string }> = new Map([
  ["token-0", { id: "ada" }],
  ["token-1", { id: "bob" }]
])
