/** One place in a linked list. It is in one list at the most. */
export class Link<A> {
  previous: Link<A> | undefined = undefined
  next: Link<A> | undefined = undefined
  readonly value: A

  constructor(value: A) {
    this.value = value
  }
}

/**
 * A doubly linked list: whoever holds a link moves it or takes it out in the same short time, however long the list is. A `Set`,
 * which keeps an order as well, has to step over what was taken out at its front.
 */
export class LinkedList<A> {
  first: Link<A> | undefined = undefined
  last: Link<A> | undefined = undefined

  /** Puts a link that is in no list behind the others. */
  add(link: Link<A>): void {
    link.previous = this.last
    if (this.last === undefined) this.first = link
    else this.last.next = link
    this.last = link
  }

  /** Takes a link of this list out of it. */
  remove(link: Link<A>): void {
    if (link.previous === undefined) this.first = link.next
    else link.previous.next = link.next
    if (link.next === undefined) this.last = link.previous
    else link.next.previous = link.previous
    link.previous = undefined
    link.next = undefined
  }

  /** Puts a link of this list behind the others. */
  moveToEnd(link: Link<A>): void {
    if (this.last === link) return
    this.remove(link)
    this.add(link)
  }
}
