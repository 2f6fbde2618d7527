import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk'
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
import { visible } from '../terminal/visible.ts'
import { diffsOf, fenced, kindOf, textContent, toCallId, toLocations } from './tool-call.ts'

/** What an editor asks a person, without the ids. The first option is the narrowest permission. */
type Question = Pick<RequestPermissionRequest, 'toolCall' | 'options'>

/** @param notes sentences that a person should know before they decide */
export function toQuestion(root: string, approval: ApprovalEvent, notes: readonly string[]): Question {
  const { id, callId, tool, diff, argv, cwd = '', widening, reads, args, truncated, plan, policy } = approval
  const place = cwd === '' ? '' : `# in ${visible(cwd)}\n`
  const rows = argv === undefined && diff === undefined && plan === undefined ? rowsOf(approval) : []
  const texts = [
    // The plan is Markdown.
    ...(plan === undefined ? [] : [plan, planSentence]),
    ...(policy === undefined ? [] : [fenced(policy.text.split('\n').map(visible).join('\n')), policySentence]),
    ...(argv === undefined ? [] : [fenced(place + argv.map(toWord).join(' '))]),
    ...rows.map((row) => `${nameOf(row, visible)}: ${changeOf(row)}`),
    ...([argv, diff, reads, plan, policy].every((each) => each === undefined) && rows.length === 0
      ? [fenced(JSON.stringify(args ?? {}, undefined, 2))]
      : []),
    ...(reads === undefined ? [] : [secretSentence]),
    ...(widening === undefined ? [] : [wideningSentence(widening)]),
    ...(approval.notes ?? []).map(visible),
    ...closedSentences(approval).map(visible),
    ...(truncated === true ? [truncatedSentence] : []),
    ...notes,
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

/** Returns the decision for an option. Anything that was not offered is a refusal. */
export function toDecision({ options }: Question, optionId: string): ApprovalDecision {
  const isOffered = options.some((option) => option.optionId === optionId)
  return approvalDecision.options.find((decision) => isOffered && decision === optionId) ?? 'refuse'
}

/** Quotes a word that a reader could take for several words. */
function toWord(word: string): string {
  return visible(/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))
}
