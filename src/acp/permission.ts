import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { ApprovalEvent } from '../api/events.ts'
import { approvalDecision } from '../api/run.ts'
import type { ApprovalDecision } from '../api/run.ts'
import {
  changeOf,
  closedSentences,
  forRunOf,
  mayChoose,
  nameOf,
  planSentence,
  policySentence,
  questionOf,
  rowsOf,
  secretSentence,
  truncatedSentence,
  wideningSentence,
} from '../page/static/approval-words.js'
import { visible, visibleText } from '../terminal/visible.ts'
import { diffsOf, fenced, kindOf, textContent, toCallId, toLocations } from './tool-call.ts'

/** What an editor asks a person, without the ids. The first option is the narrowest permission. */
type Question = Pick<RequestPermissionRequest, 'toolCall' | 'options'>

export function toQuestion(root: string, approval: ApprovalEvent): Question {
  const { id, callId, tool, diff, argv, cwd = '', widening, reads, args, truncated, plan, policy } = approval
  const place = cwd === '' ? '' : `# in ${visible(cwd)}\n`
  const rows = argv === undefined && plan === undefined ? rowsOf(approval) : []
  // A diff in this protocol has lines only, and nothing of a file that is renamed, emptied or made executable.
  const isPlain = diff !== undefined && rows.every(isChangeOfText)
  const texts = [
    // The plan is Markdown.
    ...(plan === undefined ? [] : [plan, planSentence]),
    ...(policy === undefined ? [] : [fenced(visibleText(policy.text)), policySentence]),
    ...(argv === undefined ? [] : [fenced(place + argv.map(toWord).join(' '))]),
    ...(isPlain ? [] : rows.map((row) => `${nameOf(row, visible)}: ${changeOf(row)}`)),
    ...([argv, diff, reads, plan, policy].every((each) => each === undefined) && rows.length === 0
      ? [fenced(visibleText(JSON.stringify(args ?? {}, undefined, 2)))]
      : []),
    ...(reads === undefined ? [] : [secretSentence]),
    ...(widening === undefined ? [] : [wideningSentence(widening)]),
    ...(approval.notes ?? []).map(visible),
    ...closedSentences(approval).map(visible),
    ...(truncated === true ? [truncatedSentence] : []),
    ...(diff === undefined ? [] : hiddenNote(diff)),
  ]
  return {
    toolCall: {
      toolCallId: toCallId(id, callId),
      title: questionOf(approval, visible),
      kind: kindOf(tool),
      status: 'pending',
      content: [...(diff === undefined ? [] : diffsOf(root, diff)), ...texts.map(textContent)],
      locations: toLocations(root, approval.paths ?? reads ?? []),
    },
    options: toOptions(approval),
  }
}

/** An option for each decision that can be made. `optionId` is the decision. */
function toOptions(approval: ApprovalEvent): PermissionOption[] {
  const { always, plan, policy } = approval
  const once = plan === undefined ? 'Allow once' : 'Accept the plan'
  const rules = (always ?? []).map(visible).join('; ')
  const forGood = policy === undefined ? `Always allow in this workspace: ${rules}` : 'Confirm the policy'
  return [
    ...(mayChoose(approval, 'once') ? [{ optionId: 'once', name: once, kind: 'allow_once' as const }] : []),
    ...(mayChoose(approval, 'run')
      ? [{ optionId: 'run', name: `Allow ${forRunOf(approval)}`, kind: 'allow_always' as const }]
      : []),
    ...(always === undefined ? [] : [{ optionId: 'always', name: forGood, kind: 'allow_always' as const }]),
    { optionId: 'refuse', name: 'Refuse', kind: 'reject_once' },
  ]
}

const answer = z.object({
  outcome: z.union([
    z.object({ outcome: z.literal('cancelled') }),
    z.object({ outcome: z.literal('selected'), optionId: approvalDecision }),
  ]),
})

/** Returns what an editor has answered. The SDK does not check it: anything that was not offered is a refusal. */
export function toDecision({ options }: Question, response: unknown): ApprovalDecision | 'cancelled' {
  const { outcome } = answer.safeParse(response).data ?? {}
  if (outcome === undefined || outcome.outcome === 'cancelled') return outcome?.outcome ?? 'refuse'
  return options.some(({ optionId }) => optionId === outcome.optionId) ? outcome.optionId : 'refuse'
}

function isChangeOfText({ change, executable }: ReturnType<typeof rowsOf>[number]): boolean {
  return change === 'modified' && executable === undefined
}

/** Nobody reads more lines. */
const maxHidden = 20

/** An editor gets a change as it is, and may not show characters that nobody sees. */
function hiddenNote(diff: string): readonly string[] {
  const lines = diff.split('\n').flatMap((line) => {
    const plain = line.replace(/\r$/, '').replaceAll('\t', ' ')
    const shown = visible(plain)
    return shown === plain ? [] : shown
  })
  return lines.length === 0
    ? []
    : [`The change has hidden characters:\n${fenced(lines.slice(0, maxHidden).join('\n'))}`]
}

/** Quotes a word that a reader could take for several words. */
function toWord(word: string): string {
  return visible(/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))
}
