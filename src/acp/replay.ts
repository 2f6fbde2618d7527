import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { RunReport } from '../api/run.ts'
import { planTool, diffsOfArgs } from './tool-call.ts'
import { contentOf, planUpdate, toolCall, userMessage } from './updates.ts'

/** Describes a run of the past: its messages, what the model said and did, and its answer. */
export function replayRun(root: string, report: RunReport): readonly SessionUpdate[] {
  const { id, text, attachments, steps, joined = [], answer = '', plan, state } = report
  const updates: SessionUpdate[] = [userMessage(id, withNames(text, attachments))]
  const waiting = [...joined]
  for (const { step, texts, calls } of steps) {
    while (waiting[0] !== undefined && (waiting[0].step ?? Infinity) <= step) {
      const message = waiting.shift()
      if (message !== undefined) updates.push(userMessage(message.id, withNames(message.text, message.attachments)))
    }
    for (const each of texts) if (each.kind === 'commentary') updates.push(answerOf(`${id}/${step}`, each.text))
    for (const call of calls) {
      if (call.tool === planTool) continue
      const isRunning = call.outcome === undefined && state !== 'ended'
      const status = isRunning ? 'in_progress' : call.outcome === 'ok' ? 'completed' : 'failed'
      const diffs = call.outcome === 'ok' ? diffsOfArgs(root, call.args) : []
      updates.push(toolCall(root, { ...call, id, status, content: [...diffs, ...contentOf(call)] }))
    }
  }
  for (const message of waiting) updates.push(userMessage(message.id, withNames(message.text, message.attachments)))
  if (plan !== undefined) updates.push(planUpdate(plan))
  if (answer.trim() !== '') updates.push(answerOf(`${id}/answer`, answer))
  return updates
}

function answerOf(messageId: string, text: string): SessionUpdate {
  return { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }
}

/** The record has the names of attachments, and not what they held. */
function withNames(text: string, attachments: RunReport['attachments'] = []): string {
  return attachments.length === 0 ? text : `${text}\n\n(Attached: ${attachments.map(({ name }) => name).join(', ')})`
}
