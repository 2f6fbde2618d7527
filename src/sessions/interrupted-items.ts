import { frame } from '../agent/prompts.ts'
import { userMessage } from '../translate/turn-request.ts'
import type { TurnItem } from '../translate/turn.ts'
import { recordedCall } from '../api/run.ts'
import type { Part, RunData, RunEnd } from './run-record.ts'

/** Maximum length of the arguments of one call, and of all calls. Characters. */
const maxArgs = 500
const maxCalls = 16_000

/**
 * Returns what a run that did not reach its end adds to the history: the messages of the user, the steps on record, and a note. The
 * results of its tools are not kept.
 * @param mark begins and ends what tools and models wrote: a text that these cannot contain
 */
export function interruptedItems(
  data: RunData,
  { reason, summary }: Pick<RunEnd, 'reason' | 'summary'>,
  parts: readonly Part[],
  mark: string,
): readonly TurnItem[] {
  const { joined = [] } = data
  const calls = parts.flatMap((part) => describeCall(part) ?? []).join('\n')
  const record = [calls.slice(-maxCalls), summary].filter((each) => each !== '').join('\n')
  const note = `Note of copilot-proxy: the run of this message was interrupted. ${reason} Its record, without the results of its tools:`
  return [
    toItem(data),
    ...joined.filter(({ step }) => step !== undefined).map(toItem),
    userMessage(`${note}\n${frame(mark, 'record of the interrupted run', record)}`),
    // No model has read these.
    ...joined.filter(({ step }) => step === undefined).map(toItem),
  ]
}

function toItem({ text, attachments = [] }: Pick<RunData, 'text' | 'attachments'>): TurnItem {
  const names = attachments.map(({ name }) => `[attached file ${JSON.stringify(name)}, which is no longer here]\n`)
  return userMessage(names.join('') + text)
}

function describeCall({ kind, data }: Part): string | undefined {
  if (kind === 'text') return typeof data['text'] === 'string' ? data['text'].slice(0, maxArgs) : undefined
  const { success, data: call } = recordedCall.safeParse(kind === 'call' ? data : undefined)
  if (!success) return undefined
  const { tool, args, outcome, message = '' } = call
  const end = outcome === undefined ? 'had not ended' : `${outcome}: ${message}`
  return `- ${tool} ${(JSON.stringify(args) ?? '').slice(0, maxArgs)} → ${end}`
}
