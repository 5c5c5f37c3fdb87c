/** A doubly linked list with links that can be moved and removed in constant time. */

/** A link, which is in at most one list. */
export class Link<A> {
  previous: Link<A> | undefined = undefined
  next: Link<A> | undefined = undefined
  readonly value: A

  constructor(value: A) {
    this.value = value
  }
}

/**
 * A doubly linked list. It moves or removes a link in constant time. A `Set` has an order too, but its iteration steps
 * over the entries that were removed at its front.
 */
export class LinkedList<A> {
  first: Link<A> | undefined = undefined
  last: Link<A> | undefined = undefined

  /** Adds a link, which is in no list, at the end. */
  add(link: Link<A>): void {
    link.previous = this.last
    if (this.last === undefined) this.first = link
    else this.last.next = link
    this.last = link
  }

  /** Removes a link of this list. */
  remove(link: Link<A>): void {
    if (link.previous === undefined) this.first = link.next
    else link.previous.next = link.next
    if (link.next === undefined) this.last = link.previous
    else link.next.previous = link.previous
    link.previous = undefined
    link.next = undefined
  }

  /** Moves a link of this list to the end. */
  moveToEnd(link: Link<A>): void {
    if (this.last === link) return
    this.remove(link)
    this.add(link)
  }
}
