interface Slot<Member> {
  readonly member: Member
  at: number
}

/**
 * An unordered set whose members come and go with every request. Not a Map or a Set: V8 does not reuse the slots of
 * their deleted entries and makes a new table every few additions, to which the old table points. An old table in V8's
 * old generation keeps all later tables, and the requests in them with heads and bodies, alive until the next full
 * collection (Node 24.21).
 */
export class OpenRequests<Member> {
  readonly #slots: Slot<Member>[] = []

  get size(): number {
    return this.#slots.length
  }

  /** A copy: later changes do not affect it. */
  members(): readonly Member[] {
    return this.#slots.map(({ member }) => member)
  }

  /** @returns the function that removes the member; calling it twice is harmless */
  add(member: Member): () => void {
    const slot = { member, at: this.#slots.length }
    this.#slots.push(slot)
    return () => this.#remove(slot)
  }

  #remove(slot: Slot<Member>): void {
    if (this.#slots[slot.at] !== slot) return
    const last = this.#slots.pop()
    if (last === undefined || last === slot) return
    this.#slots[slot.at] = last
    last.at = slot.at
  }
}
