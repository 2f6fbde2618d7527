import type { ReplyNotes, ToolIdentity } from '../dialect.ts'
import type { TurnEvent } from '../turn.ts'
import { endCustomInput, startCustomInput, stepCustomInput, type CustomInput } from './custom-input.ts'
import { findStop } from './stop-sequences.ts'

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>

/** Undoes in a reply what `prepareTurn` changed in the request: names and kinds of tools, and stop sequences. */
export interface Restorer {
  readonly push: (event: TurnEvent) => readonly TurnEvent[]
}

const nothing: readonly TurnEvent[] = []

/** Undefined if there is nothing to restore, which saves most replies the cost. */
export function createRestorer(notes: ReplyNotes): Restorer | undefined {
  if (notes.tools.size === 0 && notes.stop.length === 0) return undefined
  const wrapped = new Map<number, CustomInput>()
  const held = new Map<number, string>()
  let stopped = false

  function push(event: TurnEvent): readonly TurnEvent[] {
    if (stopped) return nothing
    switch (event.type) {
      case 'text.delta':
        return notes.stop.length === 0 ? [event] : watch(event)
      case 'tool.open':
        return [...release(), open(event)]
      case 'tool.args':
        return args(event)
      case 'part.close':
        return [...release(event.slot), ...closeInput(event.slot), event]
      case 'stop':
        return [...release(), ...[...wrapped.keys()].flatMap((slot) => closeInput(slot)), event]
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
    if (kind === 'custom' && event.kind === 'function') wrapped.set(event.slot, startCustomInput())
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
    if (input === undefined) return [event]
    const text = stepCustomInput(input, event.text)
    return text === '' ? nothing : [{ type: 'tool.args', slot: event.slot, text }]
  }

  /** The remainder of a wrapped tool's arguments. */
  function closeInput(slot: number): readonly TurnEvent[] {
    const input = wrapped.get(slot)
    const text = input === undefined ? '' : endCustomInput(input)
    wrapped.delete(slot)
    return text === '' ? nothing : [{ type: 'tool.args', slot, text }]
  }

  return { push }
}

function textOf(slot: number, text: string): readonly TurnEvent[] {
  return text === '' ? nothing : [{ type: 'text.delta', slot, text }]
}
