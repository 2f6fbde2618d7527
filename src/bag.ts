interface Slot<Member> {
  readonly member: Member
  at: number
}

/**
 * An unordered collection of what comes and goes with every request. Not a Map or a Set: those do not use the place of a
 * deleted entry again, so that every few additions they need a new table, and the old one points to it. An old table that
 * V8 has moved to its old generation keeps all that follow it alive until the next full collection, and the requests in
 * them with their heads and bodies (Node 24.21).
 */
export class Bag<Member> {
  readonly #slots: Slot<Member>[] = []

  get size(): number {
    return this.#slots.length
  }

  /** As they are now: taking one out changes nothing of this list. */
  members(): readonly Member[] {
    return this.#slots.map(({ member }) => member)
  }

  /** @returns what takes it out again; calling it twice is harmless */
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
