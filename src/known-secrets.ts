import { createReplacer, shortestNeedle } from './replace-any.ts'

/** The credentials this process has met, so that their very values can be taken out of text, whatever they look like. */
export interface KnownSecrets {
  /** Remembers values that come and go; what is absent or too short to tell from ordinary words is passed over. */
  readonly note: NoteSecrets
  /**
   * Remembers values for as long as they are in use, however many there are: until the same holder names others, which
   * makes of those before values that come and go.
   */
  readonly hold: (holder: string, ...values: readonly (string | undefined)[]) => void
  /** The text with each remembered value replaced by `[redacted]`, also where it is encoded. */
  readonly redact: (text: string) => string
}

export type NoteSecrets = (...values: readonly (string | undefined)[]) => void

/** For whoever shows nothing of what it learns. */
export const noteNothing: NoteSecrets = () => {}

const replacement = '[redacted]'
/** Those that were noted last are kept: the few in use, and those they replaced, which still work for a while. */
const mostNoted = 64

/** Meant for what leaves on account of a failure or goes to a log, never for what a model says. */
export function createKnownSecrets(): KnownSecrets {
  const held = new Map<string, readonly string[]>()
  const noted = new Set<string>()
  /** Undefined: the values have changed since it was made. */
  let replace: ((text: string) => string) | undefined

  const note: NoteSecrets = (...values) => {
    for (const value of values.filter(isTelling)) {
      if (!noted.delete(value)) replace = undefined
      noted.add(value)
    }
    for (const oldest of noted) {
      if (noted.size <= mostNoted) break
      noted.delete(oldest)
    }
  }

  return {
    note,
    hold(holder, ...values) {
      const before = held.get(holder) ?? []
      held.set(holder, values.filter(isTelling))
      replace = undefined
      note(...before)
    },
    redact(text) {
      replace ??= createReplacer([...held.values(), ...noted].flat().flatMap(encodedForms), replacement)
      return replace(text)
    },
  }
}

/** Shorter ones would be found in ordinary words. */
function isTelling(value: string | undefined): value is string {
  return value !== undefined && value.length >= shortestNeedle
}

/** What a value looks like in text, in JSON, in a URL and a form, in hexadecimal and inside anything in Base64. */
function encodedForms(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const inUrl = encodeURIComponent(value.toWellFormed())
  const inBase64 = [0, 1, 2].map((shift) => inBase64At(bytes, shift))
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    inUrl,
    inUrl.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams([['', value]]).toString().slice(1),
    bytes.toString('hex'),
    ...inBase64,
    ...inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/**
 * The characters that these bytes alone decide, where `shift` bytes of something else stand before them, modulo 3: what
 * is encoded may be longer (`user:password`), and the characters at the edges hold bits of both.
 */
function inBase64At(bytes: Uint8Array, shift: number): string {
  const text = Buffer.concat([new Uint8Array(shift), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isCut = (shift + bytes.length) % 3 !== 0
  return text.slice(Math.ceil((shift * 8) / 6), isCut ? -1 : undefined)
}
