/** An accepted entry of `server.api-keys`. */
export interface CallerKey {
  /** Names the key in logs, limits and totals. A key made anew may get an old name. */
  readonly name: string
  /** Derived from the key's digest: the owner of what the key made. Reveals nothing of the key, and survives a restart. */
  readonly id: string
}

/** Who sent a request. Exactly one of: the owner, a key, or, without configured keys, a program of this machine. */
export interface Caller {
  /** Undefined for the owner and while no key is configured. */
  readonly key: CallerKey | undefined
  /** The caller holds the token of this start of the daemon. */
  readonly isOwner: boolean
}

/** A caller before its key is checked, and every caller while no key is configured. */
export const unkeyedCaller: Caller = { key: undefined, isOwner: false }

/** A caller with the token of this start of the daemon, or with that of a page which the owner opened. */
export const ownerCaller: Caller = { key: undefined, isOwner: true }

/**
 * Whether a caller may read what `ownerId` made. The owner, and every caller while no key is configured, may read all; a
 * key may read what it made. To a caller that may not, answer as for an id that does not exist.
 * @param ownerId the id of the key that made it; undefined if it was made without a key
 */
export function maySee({ key }: Pick<Caller, 'key'>, ownerId: string | undefined): boolean {
  return key === undefined || key.id === ownerId
}

/** Whether a caller may decide (an approval, an undo, a deletion) for what `ownerId` made: the owner, or that key. */
export function mayDecide({ key, isOwner }: Caller, ownerId: string | undefined): boolean {
  return isOwner || (key !== undefined && key.id === ownerId)
}

/** Whose calls a limit counts: those of the key, else of the address. */
export interface CallSource {
  readonly caller: Caller
  readonly address: string | undefined
}
