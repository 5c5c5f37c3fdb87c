/** The tools. A server merges their Layer with those of its other groups. */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Seat, SeatFree, Seats, SeatTaken } from "./Seats.ts"

const parameters = Schema.Struct({ seat: Seat })

export const Bookings = McpGroup.make(
  "bookings",
  Tool.make("book_seat", { description: "Books a seat", parameters, failure: SeatTaken }),
  Tool.make("cancel_seat", { description: "Cancels the booking of a seat", parameters, failure: SeatFree }),
  Tool.make("free_seats", {
    description: "Lists the seats that are not booked",
    success: Schema.Struct({ seats: Schema.Array(Seat) })
  }).annotate(Tool.Readonly, true)
)

export const BookingsLive = Bookings.toLayer(Effect.fnUntraced(function*(handlers) {
  const seats = yield* Seats
  return handlers
    .tool("book_seat", ({ seat }) => seats.book(seat))
    .tool("cancel_seat", ({ seat }) => seats.cancel(seat))
    .tool("free_seats", () => Effect.map(seats.free, (seats) => ({ seats })))
}))
