/** A promise that other code resolves. */
export class Signal<A> {
  readonly happened: Promise<A>
  #resolve: (value: A) => void = () => {}

  constructor() {
    this.happened = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Resolves the promise. Later values are dropped. */
  give(value: A): void {
    this.#resolve(value)
  }
}
