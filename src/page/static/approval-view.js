/** @import { ApprovalDecision } from '../../api/run.ts' */
/** @import { ApprovalPart } from '../timeline.ts' */
/** @import { View } from './dom.js' */
import { ApiError, ask } from './api.js'
import {
  alwaysPhrase,
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
} from './approval-words.js'
import { countsView, diffView } from './diff-view.js'
import { ownerHint } from './command-line.js'
import { element } from './dom.js'
import { createMarkdownView } from './markdown-view.js'
import { isOwner, mayDecide } from './owner.js'
import { toVisible } from './visible-text.js'

const decisions = /** @type {const} */ ([
  { decision: 'once', letter: 'y', label: 'Allow once' },
  { decision: 'run', letter: 'r', label: 'Allow' },
  { decision: 'always', letter: 'a', label: 'Always' },
  { decision: 'refuse', letter: 'n', label: 'Refuse' },
])

/** The words for a plan, where they differ. */
const planWords = {
  once: { label: 'Accept', verdict: 'Accepted' },
  refuse: { label: 'Refuse', verdict: 'Refused' },
}

const decided = {
  pending: '',
  once: 'Allowed once',
  run: 'Allowed for this run',
  always: 'Allowed always',
  refuse: 'Refused',
  expired: 'Expired: the run has ended',
}

const decidedPolicy = { ...decided, always: 'Confirmed', refuse: 'Not confirmed' }

/** What the decisions mean for a policy, which is confirmed for good or not at all. */
const labelsOfPolicy = { once: '', always: 'Confirm', refuse: 'Not now' }

const classes = { once: 'primary', run: '', always: 'owner-only', refuse: 'danger' }

/**
 * Shows an approval with everything that the agent wants to do. The keys y, r, a and n answer it while it has the focus.
 * @param {ApprovalPart} first
 * @returns {View<ApprovalPart>}
 */
export function approvalView(first) {
  const title = element('h4', { id: `${first.key.replaceAll(/\W/g, '-')}-title` }, questionOf(first, toVisible))
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const verdict = element('p', { class: 'verdict', hidden: true })
  const rules = rulesView(first, `${title.id}-rules`)
  const offered = decisions.filter(({ decision }) => mayChoose(first, decision))
  const buttons = offered.map(({ decision, letter, label }) =>
    element(
      'button',
      {
        type: 'button',
        class: classes[decision],
        'aria-keyshortcuts': letter,
        ...(decision === 'always' && { 'aria-describedby': rules.id }),
        click: () => void decide(decision),
      },
      labelOf(decision, label),
      element('kbd', { 'aria-hidden': 'true' }, letter),
    ),
  )
  const row = element('div', { class: 'buttons decision' }, ...buttons)
  const hint = ownerHint('To decide')
  const subject = element(
    'details',
    { class: 'approval-subject', open: true },
    element('summary', {}, 'Requested action'),
    ...subjectOf(first),
  )
  const node = element(
    'section',
    { class: 'approval', 'aria-labelledby': title.id, tabindex: -1, keydown: onKey },
    title,
    subject,
    rules,
    row,
    hint,
    verdict,
    failure,
  )
  node.dataset['approval'] = first.approvalId

  /**
   * @param {ApprovalDecision} decision
   * @param {string} label
   */
  function labelOf(decision, label) {
    if (decision === 'run') return `${label} ${forRunOf(first)}`
    if (first.policy !== undefined) return labelsOfPolicy[decision]
    return first.plan === undefined || decision === 'always' ? label : planWords[decision].label
  }

  /** @param {KeyboardEvent} event */
  function onKey({ key, ctrlKey, metaKey, altKey, repeat }) {
    if (ctrlKey || metaKey || altKey || repeat || row.hidden || !mayDecide()) return
    const found = offered.find(({ letter }) => letter === key.toLowerCase())
    if (found !== undefined && (found.decision !== 'always' || isOwner())) void decide(found.decision)
  }

  /** @param {ApprovalDecision} decision */
  async function decide(decision) {
    if (buttons.some((button) => button.disabled)) return
    failure.hidden = true
    for (const button of buttons) button.disabled = true
    try {
      await ask(`approvals/${encodeURIComponent(first.approvalId)}`, { method: 'POST', body: { decision } })
      show(decision)
    } catch (error) {
      // Somebody else has decided, and an event will state the decision.
      if (error instanceof ApiError && error.code === 'approval_decided') return
      failure.textContent = error instanceof Error ? error.message : String(error)
      failure.hidden = false
      for (const button of buttons) button.disabled = false
    }
  }

  /** @param {ApprovalPart['state']} state */
  function show(state) {
    const isPending = state === 'pending'
    const hadFocus = node.contains(document.activeElement)
    node.dataset['state'] = state
    row.hidden = !isPending
    rules.hidden = !isPending || first.always === undefined || first.policy !== undefined
    hint.hidden = !isPending
    verdict.hidden = isPending
    const isOfPlan = first.plan !== undefined && (state === 'once' || state === 'refuse')
    const words = first.policy === undefined ? decided : decidedPolicy
    verdict.textContent = isOfPlan ? planWords[state].verdict : words[state]
    if (isPending) return
    subject.open = false
    // The buttons are hidden, so keep the focus here for keyboard users.
    if (hadFocus) node.focus({ preventScroll: true })
  }
  show(first.state)
  return { node, update: ({ state }) => show(state) }
}

/** @param {ApprovalPart} approval */
function subjectOf(approval) {
  const { argv, cwd, widening, notes = [], diff, reads, args, plan, policy, truncated } = approval
  const rows = argv === undefined ? rowsOf(approval) : []
  const [why, ...gates] = closedSentences(approval)
  return [
    ...(plan === undefined ? [] : planView(plan)),
    ...(policy === undefined
      ? []
      : [element('p', {}, policySentence), element('pre', { class: 'output' }, toVisible(policy.text))]),
    ...(reads === undefined ? [] : [element('p', {}, secretSentence)]),
    ...(widening === undefined ? [] : [element('p', {}, wideningSentence(widening))]),
    ...notes.map((note) => element('p', {}, toVisible(note))),
    ...(rows.length === 0 ? [] : [filesView(rows)]),
    ...(argv === undefined
      ? []
      : [
          // Show each argument in an element of its own, so that a person sees where it ends.
          element(
            'pre',
            { class: 'command' },
            ...argv.flatMap((word) => [element('span', { class: 'word' }, toVisible(word)), ' ']),
          ),
          cwd === undefined || cwd === ''
            ? element('p', { class: 'muted' }, 'in the folder of the workspace')
            : element('p', { class: 'muted' }, 'in ', element('code', {}, toVisible(cwd))),
        ]),
    ...(diff === undefined ? [] : [diffView(diff)]),
    ...(args === undefined || diff !== undefined || argv !== undefined
      ? []
      : [element('pre', { class: 'output' }, toVisible(JSON.stringify(args, undefined, 2)))]),
    ...(truncated === true ? [element('p', { class: 'failure' }, truncatedSentence)] : []),
    ...(why === undefined
      ? []
      : [
          element(
            'details',
            { class: 'closed' },
            element('summary', {}, why),
            element('ul', {}, ...gates.map((gate) => element('li', {}, toVisible(gate)))),
          ),
        ]),
  ]
}

/**
 * The rules that "Always" stores.
 * @param {ApprovalPart} approval
 * @param {string} id
 */
function rulesView(approval, id) {
  const { always = [] } = approval
  return element(
    'div',
    { class: 'always owner-only', id },
    element('p', {}, alwaysPhrase(approval)),
    element('ul', {}, ...always.map((rule) => element('li', {}, element('code', {}, toVisible(rule))))),
  )
}

/** @param {string} plan */
function planView(plan) {
  const view = createMarkdownView()
  view.update(plan)
  const how = 'To have it revised, send a message that says what to change, then refuse.'
  return [view.node, element('p', { class: 'muted' }, planSentence), element('p', { class: 'muted' }, how)]
}

/** @param {ReturnType<typeof rowsOf>} rows */
function filesView(rows) {
  return element(
    'ul',
    { class: 'files', 'aria-label': 'Files' },
    ...rows.map((row) =>
      element(
        'li',
        {},
        element('code', {}, nameOf(row, toVisible)),
        element('span', { class: 'tag' }, changeOf(row)),
        row.added === undefined ? undefined : countsView(row.added, row.removed ?? 0),
      ),
    ),
  )
}
