import type { TurnEvent } from '../turn.ts'

/**
 * For callers that did not ask for thinking. Upstreams of another dialect think all the same and send, unasked, no words
 * but an opaque value; a block of that before the text would surprise programs that read `content[0].text`. It waits
 * until the model calls a tool, when it is needed to go on, and otherwise never comes.
 */
export interface ThoughtDeferral {
  /** Thoughts that turned out to have words, and are shown. */
  readonly shown: Set<number>
  readonly waiting: Set<number>
  readonly held: TurnEvent[]
}

const nothing: readonly TurnEvent[] = []

export function startThoughtDeferral(): ThoughtDeferral {
  return { shown: new Set(), waiting: new Set(), held: [] }
}

export function deferThoughts({ shown, waiting, held }: ThoughtDeferral, event: TurnEvent): readonly TurnEvent[] {
  switch (event.type) {
    case 'think.delta':
      if (event.text !== '') shown.add(event.slot)
      return [event]
    case 'think.sign':
      if (shown.has(event.slot)) return [event]
      waiting.add(event.slot)
      held.push(event)
      return nothing
    case 'part.close':
      if (!waiting.has(event.slot)) return [event]
      held.push(event)
      return nothing
    case 'tool.open':
    case 'search.open':
      return [...held.splice(0), event]
    case 'start':
    case 'text.delta':
    case 'refusal.delta':
    case 'tool.args':
    case 'citation':
    case 'search':
    case 'search.result':
    case 'usage':
    case 'stop':
      return [event]
  }
}
