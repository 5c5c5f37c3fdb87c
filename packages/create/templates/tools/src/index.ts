/** The tools, and the port that a program implements for them. */
export * from "./bookings.ts"
export * from "./Seats.ts"
