/** The seats of a room: the port of the tools. A program provides it over its own database. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

export const Seat = Schema.Literals(["1A", "1B", "2A"]).annotate({ description: "A row and a letter" })

export type Seat = typeof Seat.Type

/** The failure of a booking: another one was earlier. */
export class SeatTaken extends Schema.TaggedError<SeatTaken>()("SeatTaken", { seat: Seat }) {
  override get message() {
    return `The seat ${this.seat} is taken; free_seats has the others`
  }
}

/** The failure of a cancellation: the seat is not booked. */
export class SeatFree extends Schema.TaggedError<SeatFree>()("SeatFree", { seat: Seat }) {
  override get message() {
    return `The seat ${this.seat} is not booked`
  }
}

export class Seats extends Context.Service<Seats, {
  readonly book: (seat: Seat) => Effect.Effect<void, SeatTaken>
  readonly cancel: (seat: Seat) => Effect.Effect<void, SeatFree>
  readonly free: Effect.Effect<ReadonlyArray<Seat>>
}>()("bookings/Seats") {
  /** Keeps the bookings of this process. */
  static readonly layerMemory = Layer.effect(
    Seats,
    Effect.map(Ref.make<ReadonlySet<Seat>>(new Set()), (booked) => ({
      // The seat is looked up and booked in one step. In two, a booking could come between them.
      book: (seat) =>
        Effect.flatMap(
          Ref.getAndUpdate(booked, (seats) => new Set([...seats, seat])),
          (before) => before.has(seat) ? Effect.fail(new SeatTaken({ seat })) : Effect.void
        ),
      cancel: (seat) =>
        Effect.flatMap(
          Ref.getAndUpdate(booked, (seats) => new Set([...seats].filter((other) => other !== seat))),
          (before) => before.has(seat) ? Effect.void : Effect.fail(new SeatFree({ seat }))
        ),
      free: Effect.map(Ref.get(booked), (seats) => Seat.literals.filter((seat) => !seats.has(seat)))
    }))
  )
}
