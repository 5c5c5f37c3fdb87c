/** What may be shown of an address that is none: it may hold secrets in the same places as one that is. */
export const shownAddress = (given: string | URL): string =>
  String(given).replace(/[?#].*$/s, "").replace(/\/\/.*@/s, "//")
