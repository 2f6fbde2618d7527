/** @import { MessagePart, NoteItem, RunUse, RunEnd, RunItem, RunPart, TextPart, TimelineItem } from '../timeline.ts' */
/** @import { View } from './dom.js' */
import { approvalView } from './approval-view.js'
import { runChangesView } from './changes-view.js'
import { countsView, diffView } from './diff-view.js'
import { createList, element } from './dom.js'
import { contextPhrase } from './context-words.js'
import { plural, toClock, toCount, toCredits, toDateTime, toShortCount } from './format.js'
import { createMarkdownView } from './markdown-view.js'
import { toolView } from './tool-view.js'
import { toVisible } from './visible-text.js'

/**
 * @typedef {object} RunActions
 * @property {(runId: string) => Promise<void>} cancel
 * @property {(runId: string) => Promise<void>} recall reads the steps of a run from the daemon
 * @property {import('./changes-view.js').ShowUndo} showUndo shows what comes back, and asks
 * @property {(run: RunItem) => Promise<void>} retry sends the message again, in a fork of the conversation before it
 * @property {(run: RunItem) => Promise<void>} rewind asks whether the conversation, and its files, go back to before the message
 * @property {(run: RunItem) => Promise<void>} edit begins that fork with the text of the message in the form
 */

/** @type {Readonly<Record<string, string>>} */
const outcomes = {
  completed: 'Completed',
  max_steps: 'Stopped: step limit',
  max_minutes: 'Stopped: time limit',
  max_actions: 'Stopped: limit of changes and commands',
  max_credits: 'Stopped: credit limit',
  cancelled: 'Cancelled',
  repeated_call: 'Stopped: repeated call',
  refused: 'Stopped: refused three times',
  failed: 'Failed',
  interrupted: 'Interrupted',
}

/** The reason of a run that the model has completed. */
const usualReason = 'The model gave its final answer.'

/** @param {string} outcome */
export function toOutcomeText(outcome) {
  return outcomes[outcome] ?? outcome
}

/**
 * @param {RunActions} actions
 * @returns {(item: TimelineItem) => View<TimelineItem>}
 */
export function createItemView(actions) {
  return (item) => (item.kind === 'run' ? runView(item, actions) : { node: noteView(item) })
}

/** @param {NoteItem} note */
function noteView({ tone, title, text, time }) {
  return element(
    'article',
    { class: `note ${tone}` },
    element('h3', {}, toVisible(title), timeView(time)),
    element('p', {}, toVisible(text)),
  )
}

/** @param {string} time */
function timeView(time) {
  return time === '' ? undefined : element('time', { datetime: time, title: toDateTime(time) }, toClock(time))
}

/**
 * Shows a message with its answer.
 * @param {RunItem} first
 * @param {RunActions} actions
 * @returns {View<TimelineItem>}
 */
function runView(first, actions) {
  const head = element('header', { class: 'message' })
  const parts = element('div', { class: 'parts' })
  const plan = element('ol', { class: 'plan', 'aria-label': 'Plan' })
  const footer = element('footer', { class: 'run-end' })
  const working = element('p', { class: 'working', 'aria-hidden': 'true' }, 'working')
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const cancel = actionButton('Cancel', 'danger', () => actions.cancel(first.key))
  const recall = actionButton('Show the steps', 'quiet', () => actions.recall(first.key))
  let shown = first
  const retry = actionButton('Try again', 'quiet again', () => actions.retry(shown))
  const edit = actionButton('Edit', 'quiet again', () => actions.edit(shown))
  const rewind = actionButton('Go back to here', 'quiet', () => actions.rewind(shown))
  const next = element('div', { class: 'run-actions' }, recall, rewind, retry, edit)
  const node = element('article', { class: 'run' }, head, plan, parts, footer, failure)
  const updateParts = createList(parts, partView)

  /**
   * @param {string} label
   * @param {string} style
   * @param {() => Promise<void>} act
   */
  function actionButton(label, style, act) {
    const button = element('button', { type: 'button', class: style, click: () => void run() }, label)
    async function run() {
      button.disabled = true
      failure.hidden = true
      try {
        await act()
      } catch (error) {
        failure.textContent = error instanceof Error ? error.message : String(error)
        failure.hidden = false
      } finally {
        button.disabled = false
      }
    }
    return button
  }

  /** @param {TimelineItem} run */
  function update(run) {
    if (run.kind !== 'run') return
    shown = run
    node.dataset['mode'] = run.mode
    head.replaceChildren(...headOf(run))
    plan.hidden = run.plan === undefined || run.plan.length === 0
    plan.replaceChildren(...(run.plan ?? []).map(planItemView))
    updateParts(run.parts)
    const waits = run.parts.some((part) => part.kind === 'approval' && part.state === 'pending')
    working.textContent = waits ? 'waits for you' : 'working'
    footer.replaceChildren(
      ...(run.end === undefined ? [working, ...useView(run.used ?? {}), cancel] : endOf(run.end, run.mode)),
      ...(run.changes !== undefined && run.end !== undefined
        ? [runChangesView(run.key, run.changes, actions.showUndo)]
        : []),
      ...(run.end === undefined ? [] : [next]),
    )
    recall.hidden = !run.isRecalled
    rewind.hidden = run.provider !== undefined
    // The page does not have the contents of attachments.
    retry.hidden = edit.hidden = run.provider !== undefined || run.attachments.length > 0
    node.toggleAttribute('aria-busy', run.end === undefined)
  }
  update(first)
  return { node, update }
}

/** @type {Readonly<Record<string, string>>} */
const planStates = { pending: 'to do', in_progress: 'in progress', completed: 'done' }

/** @param {{ readonly text: string, readonly state: string }} item */
function planItemView({ text, state }) {
  return element('li', { 'data-state': state }, toVisible(text), element('span', { class: 'tag' }, planStates[state]))
}

/** @param {RunItem} run */
function headOf({ text, mode, provider, time, attachments }) {
  return [
    element(
      'h3',
      {},
      provider === undefined ? 'You' : toVisible(provider),
      element('span', { class: 'tag' }, mode),
      timeView(time),
    ),
    element('p', { class: 'message-text' }, text === '' ? 'The message was sent before this page was opened.' : text),
    attachments.length > 0 &&
      element(
        'ul',
        { class: 'chips', 'aria-label': 'Attachments' },
        ...attachments.map((name) => element('li', {}, toVisible(name))),
      ),
  ].filter((node) => node !== false)
}

/**
 * A part with the same key always has the same kind, so a view never has to change its kind.
 * @param {RunPart} part
 * @returns {View<RunPart>}
 */
function partView(part) {
  switch (part.kind) {
    case 'tool': {
      const { node, update } = toolView(part)
      return { node, update: (next) => next.kind === 'tool' && update?.(next) }
    }
    case 'approval': {
      const { node, update } = approvalView(part)
      return { node, update: (next) => next.kind === 'approval' && update?.(next) }
    }
    case 'message':
      return { node: joinedView(part) }
    case 'text': {
      const { node, update } = textView(part)
      return { node, update: (next) => next.kind === 'text' && update?.(next) }
    }
  }
}

/** @param {MessagePart} message */
function joinedView({ text, time }) {
  return element(
    'section',
    { class: 'message joined', 'aria-label': 'Message sent meanwhile' },
    element('h4', {}, 'You', timeView(time)),
    element('p', { class: 'message-text' }, text),
  )
}

/**
 * @param {TextPart} part
 * @returns {View<TextPart>}
 */
function textView(part) {
  switch (part.fragment) {
    case 'step':
      return { node: element('p', { class: 'step' }, part.text) }
    case 'notice':
      return { node: element('p', { class: 'notice' }, toVisible(part.text)) }
    case 'thinking': {
      const text = element('p', { class: 'thinking-text' }, part.text)
      const node = element('details', { class: 'thinking' }, element('summary', {}, 'Thinking'), text)
      return { node, update: (next) => (text.textContent = next.text) }
    }
    case 'answer':
    case 'commentary': {
      const view = createMarkdownView()
      view.node.classList.add(part.fragment)
      view.update(part.text)
      return { node: view.node, update: ({ text }) => view.update(text) }
    }
  }
}

/**
 * @param {RunEnd} end
 * @param {RunItem['mode']} mode
 */
function endOf({ outcome, reason, summary, files, model, steps, ...used }, mode) {
  const isGood = outcome === 'completed'
  // Another reason says what the run did not do.
  const isPlain = isGood && (reason === '' || reason === usualReason)
  const facts = [model, steps === undefined || mode === 'chat' ? undefined : plural(steps, 'step')]
  return [
    ...(isGood && mode === 'chat'
      ? []
      : [
          element(
            'p',
            { class: isPlain ? 'outcome good' : isGood ? 'outcome' : 'outcome bad' },
            isGood && !isPlain ? toVisible(reason) : toOutcomeText(outcome),
          ),
        ]),
    ...(isGood || reason === '' ? [] : [element('p', { class: 'reason' }, toVisible(reason))]),
    ...(mode !== 'chat' && files.length > 0 ? [filesView(files)] : []),
    ...(mode !== 'chat' && summary !== '' ? [summaryView(summary)] : []),
    ...useView(used, facts),
  ]
}

/**
 * What a run has used so far, or in all.
 * @param {Partial<RunUse>} used
 * @param {readonly (string | undefined)[]} before facts to begin with
 */
function useView({ requests, usage, context }, before = []) {
  const facts = [
    ...before,
    requests === undefined ? undefined : plural(requests, 'request'),
    usage === undefined
      ? undefined
      : `${toCount(usage.inputTokens)} in${usage.cachedInputTokens ? ` (${toCount(usage.cachedInputTokens)} cached)` : ''}, ${toCount(usage.outputTokens)} out`,
    usage?.credits === undefined ? undefined : `${toCredits(usage.credits)} credits`,
    context === undefined ? undefined : `context ${contextPhrase(context, toShortCount)}`,
  ].filter((fact) => fact !== undefined)
  if (facts.length === 0) return []
  const meter =
    context?.limit === undefined
      ? []
      : [element('meter', { max: context.limit, value: context.tokens, 'aria-label': 'Context' })]
  return [element('p', { class: 'usage' }, facts.join(' · '), ...meter)]
}

/** @param {RunEnd['files']} files */
function filesView(files) {
  return element(
    'ul',
    { class: 'files', 'aria-label': 'Changed files' },
    ...files.map(({ path, change, added, removed, diff }) => {
      const name = [
        element('code', {}, toVisible(path)),
        element('span', { class: 'tag' }, change),
        countsView(added, removed),
      ]
      if (diff === undefined) return element('li', {}, ...name)
      return element('li', {}, element('details', {}, element('summary', {}, ...name), diffView(diff)))
    }),
  )
}

/** @param {string} summary */
function summaryView(summary) {
  const view = createMarkdownView()
  view.update(summary)
  return element('details', { class: 'summary' }, element('summary', {}, 'Summary'), view.node)
}
