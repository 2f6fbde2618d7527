import type { TurnEvent, Usage } from '../../turn.ts'
import { addUsage } from '../usage.ts'

/** Makes the events of several replies those of one answer: one `start`, consecutive slots and the usage of all replies. */
export interface ReplyJoiner {
  readonly push: (events: readonly TurnEvent[]) => readonly TurnEvent[]
  /** The following events are those of the next reply. */
  readonly next: () => void
  /** Usage of the answer so far. */
  readonly usage: () => Usage | undefined
}

export function createReplyJoiner(): ReplyJoiner {
  let usage: Usage | undefined
  /** Usage of the earlier replies. */
  let earlier: Usage | undefined
  let isFirst = true
  /** The first slot of the current reply. */
  let firstSlot = 0
  let nextSlot = 0

  function join(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'start':
        return []
      case 'stop':
        return [event]
      case 'usage':
        return [{ type: 'usage', usage: addUsage(earlier, event.usage) ?? event.usage }]
      default:
        return [{ ...event, slot: firstSlot + event.slot }]
    }
  }

  return {
    push(events) {
      const joined = isFirst ? events : events.flatMap(join)
      for (const event of joined) {
        if (event.type === 'usage') ({ usage } = event)
        else if (event.type !== 'start' && event.type !== 'stop' && event.slot >= nextSlot) nextSlot = event.slot + 1
      }
      return joined
    },
    next() {
      earlier = usage
      firstSlot = nextSlot
      isFirst = false
    },
    usage: () => usage,
  }
}
