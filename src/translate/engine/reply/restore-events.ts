import type { ReplyNotes } from '../../dialect.ts'
import { createKeyRenamer, type KeyRenamer } from '../tool-codec/property-names.ts'
import type { ToolIdentity } from '../reply-effects.ts'
import type { TurnEvent } from '../../turn.ts'

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>

const nothing: readonly TurnEvent[] = []

/**
 * Undoes in a reply what `prepareTurn` and the rules changed in the request: names and kinds of tools, names of
 * properties, and stop sequences. Undefined if there is nothing to restore, which saves most replies the cost.
 */
export function createRestorer(notes: ReplyNotes) {
  const { properties = new Map<string, string>() } = notes
  if (notes.tools.size === 0 && notes.stop.length === 0 && properties.size === 0) return undefined
  const renamers = new Map<number, KeyRenamer>()
  const wrapped = new Map<number, CustomInput>()
  const held = new Map<number, string>()
  let stopped = false
  return restore

  function restore(event: TurnEvent): readonly TurnEvent[] {
    if (stopped) return nothing
    switch (event.type) {
      case 'text.delta':
        return notes.stop.length === 0 ? [event] : watch(event)
      case 'tool.open':
        return [...release(), open(event)]
      case 'tool.args':
        return args(event)
      case 'part.close':
        return [...release(event.slot), ...closeArgs(event.slot), event]
      case 'stop':
        return [...release(), ...[...wrapped.keys(), ...renamers.keys()].flatMap((slot) => closeArgs(slot)), event]
      case 'start':
      case 'refusal.delta':
      case 'think.delta':
      case 'think.sign':
      case 'citation':
      case 'search':
      case 'search.open':
      case 'search.result':
      case 'usage':
        return [event]
    }
  }

  function watch(event: Of<'text.delta'>): readonly TurnEvent[] {
    const { slot } = event
    const before = held.get(slot) ?? ''
    const search = findStop(before, event.text, notes.stop)
    held.set(slot, search.held)
    // Log probabilities describe the unchanged piece only.
    const isUnchanged = before === '' && search.text === event.text
    const emitted: readonly TurnEvent[] = isUnchanged ? [event] : textOf(slot, search.text)
    if (search.stop === undefined) return emitted
    stopped = true
    return [
      ...emitted,
      { type: 'part.close', slot },
      { type: 'stop', reason: 'stop_sequence', stopSequence: search.stop },
    ]
  }

  /** Emits held text that did not become a stop sequence. */
  function release(only?: number): readonly TurnEvent[] {
    if (held.size === 0) return nothing
    const slots = only === undefined ? [...held.keys()] : [only]
    return slots.flatMap((slot) => {
      const text = held.get(slot) ?? ''
      held.delete(slot)
      return textOf(slot, text)
    })
  }

  function open(event: Of<'tool.open'>): TurnEvent {
    const identity: ToolIdentity | undefined = notes.tools.get(event.name)
    if (identity === undefined) return event
    const { name, namespace, kind } = identity
    if (kind === 'custom' && event.kind === 'function')
      wrapped.set(event.slot, { raw: '', position: 'before', escape: '' })
    return {
      type: 'tool.open',
      slot: event.slot,
      id: event.id,
      name,
      kind,
      ...(namespace !== undefined && { namespace }),
    }
  }

  function args(event: Of<'tool.args'>): readonly TurnEvent[] {
    const input = wrapped.get(event.slot)
    if (input !== undefined) return argsOf(event.slot, stepCustomInput(input, event.text))
    if (properties.size === 0) return [event]
    const renamer = renamers.get(event.slot) ?? createKeyRenamer(properties)
    renamers.set(event.slot, renamer)
    return argsOf(event.slot, renamer.push(event.text))
  }

  function closeArgs(slot: number): readonly TurnEvent[] {
    const input = wrapped.get(slot)
    const renamer = renamers.get(slot)
    wrapped.delete(slot)
    renamers.delete(slot)
    // Arguments that never had the expected shape are the text of a wrapped tool.
    return argsOf(slot, input?.position === 'before' ? input.raw : (renamer?.end() ?? ''))
  }
}

function argsOf(slot: number, text: string): readonly TurnEvent[] {
  return text === '' ? nothing : [{ type: 'tool.args', slot, text }]
}

function textOf(slot: number, text: string): readonly TurnEvent[] {
  return text === '' ? nothing : [{ type: 'text.delta', slot, text }]
}

interface StopSearch {
  /** Text to emit. */
  readonly text: string
  /** The stop sequence that was found; the text after it is dropped. */
  readonly stop: string | undefined
  /** The end of the text that may become a stop sequence with the next piece. */
  readonly held: string
}

/** Appends `piece` to the held text and finds the earliest stop sequence. */
function findStop(held: string, piece: string, stops: readonly string[]): StopSearch {
  const text = held + piece
  let stopAt = -1
  let earliest: string | undefined
  for (const stop of stops) {
    const at = text.indexOf(stop)
    if (at !== -1 && (stopAt === -1 || at < stopAt)) {
      stopAt = at
      earliest = stop
    }
  }
  if (earliest !== undefined) return { text: text.slice(0, stopAt), stop: earliest, held: '' }
  // Not one `Math.max(...)`: a caller may send more stop sequences than the stack takes arguments.
  const keep = stops.reduce((most, stop) => Math.max(most, tailLength(text, stop)), 0)
  return { text: text.slice(0, text.length - keep), stop: undefined, held: text.slice(text.length - keep) }
}

/** Length of the longest end of `text` with which `stop` begins. */
function tailLength(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length -= 1) {
    if (stop.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}

/** Extracts a freeform tool's text, piece by piece, from the JSON arguments of the function that replaces the tool. */
interface CustomInput {
  /** All pieces so far, until the text begins. */
  raw: string
  /** Relative to the text's quotes. */
  position: 'before' | 'inside' | 'after'
  /** The start of an escape that a piece cut in two. */
  escape: string
}

/** `{"input":"` with any space. Arguments of another shape are passed on unchanged. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/

/** Longer than any opening: beyond it, pieces are collected without a search. Characters. */
const longestOpening = 256

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** Reads the next piece of arguments. Returns the text that it adds. */
function stepCustomInput(input: CustomInput, piece: string): string {
  switch (input.position) {
    case 'before': {
      input.raw += piece
      const opening = input.raw.length <= longestOpening + piece.length ? OPENING.exec(input.raw) : null
      if (opening === null) return ''
      const remainder = input.raw.slice(opening[0].length)
      input.raw = ''
      input.position = 'inside'
      return unescape(input, remainder)
    }
    case 'inside':
      return unescape(input, piece)
    case 'after':
      return ''
  }
}

/** Decodes JSON string text up to its closing quote. A piece may end inside an escape. */
function unescape(input: CustomInput, piece: string): string {
  const text = input.escape + piece
  input.escape = ''
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') {
      input.position = 'after'
      return out + text.slice(from, at)
    }
    if (char !== '\\') continue
    out += text.slice(from, at)
    const kind = text[at + 1]
    const length = kind === 'u' ? 6 : 2
    if (at + length > text.length) {
      input.escape = text.slice(at)
      return out
    }
    out += kind === 'u' ? codeUnit(text.slice(at + 2, at + 6)) : (ESCAPES[kind ?? ''] ?? kind ?? '')
    at += length - 1
    from = at + 1
  }
  return out + text.slice(from)
}

function codeUnit(hex: string): string {
  const code = Number.parseInt(hex, 16)
  return Number.isNaN(code) ? '' : String.fromCharCode(code)
}
