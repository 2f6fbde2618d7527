import { isSealed, openOpaque } from '../../parts/opaque-envelope.ts'
import { fitsChat } from '../reasoning-fit.ts'
import { always, firstNotes, type Note, type Rule } from './rule.ts'

/**
 * Reasoning that a caller got while another model, or another upstream, answered it. What this upstream made is handed
 * back as it was; the rest would make every later request of the session fail.
 */
export const sealedReasoningRule: Rule = {
  name: 'sealed reasoning opened or dropped',
  source: 'parameters, reasoning of others: opaque values of another vendor are refused',
  applies: always,
  adapt: ({ messages }, { family }) => {
    const notes: Note[] = []
    let changed = false
    const opened = messages.map((message, at) => {
      const sealed = message['reasoning_opaque']
      if (message.role !== 'assistant' || typeof sealed !== 'string' || !isSealed(sealed)) return message
      changed = true
      const opaque = openOpaque(sealed)
      if (opaque !== undefined && fitsChat(opaque, family)) return { ...message, reasoning_opaque: opaque.value }
      notes.push({ code: 'thinking_dropped', field: `messages.${at}`, action: 'reasoning of another upstream dropped' })
      const { reasoning_text: _text, reasoning_content: _content, reasoning_opaque: _opaque, ...rest } = message
      return rest
    })
    return changed ? { patch: { messages: opened }, notes: firstNotes(notes) } : undefined
  },
}
