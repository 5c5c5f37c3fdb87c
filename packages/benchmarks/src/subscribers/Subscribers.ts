/** The clients of one server in this process, all of the same library, which have subscribed to one resource. */
export interface Subscribers {
  /** Changes the resource, and waits until every client has received the notification. */
  readonly update: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The URI of the resource. */
export const uri = "benchmark://resource"

/** The notifications that a change has to deliver. */
export interface Delivery {
  /** Counts a notification that a client has received. */
  readonly received: () => void
  /** Waits until all clients have received the next notification. */
  readonly next: () => Promise<void>
}

/** Counts the notifications of a number of clients. */
export const delivery = (clients: number): Delivery => {
  let left = 0
  let done = (): void => {}
  return {
    received: () => {
      if (left === 0) throw new Error("a client has received a notification twice")
      if (--left === 0) done()
    },
    next: () =>
      new Promise((resolve) => {
        left = clients
        done = resolve
      })
  }
}
