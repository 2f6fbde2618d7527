/** @import { ToolPart } from '../timeline.ts' */
/** @import { View } from './dom.js' */
import { diffView } from './diff-view.js'
import { element } from './dom.js'
import { toDuration } from './format.js'
import { subjectOf } from './tool-words.js'
import { toVisible } from './visible-text.js'

/**
 * Shows a tool call in one line: name, subject and outcome. Opening it shows arguments and output.
 * @param {ToolPart} first
 * @returns {View<ToolPart>}
 */
export function toolView(first) {
  const state = element('span', { class: 'tool-state' })
  const subject = element('code', { class: 'tool-subject' })
  const outcome = element('span', { class: 'tool-outcome' })
  const body = element('div', { class: 'tool-body' })
  const node = element(
    'details',
    { class: 'tool' },
    element('summary', {}, state, element('span', { class: 'tool-name' }, toVisible(first.tool)), subject, outcome),
    body,
  )
  let shown = first
  // Create the content only when it is opened, because a run may have a hundred calls.
  node.addEventListener('toggle', () => {
    if (node.open) body.replaceChildren(...bodyOf(shown))
  })

  /** @param {ToolPart} tool */
  function update(tool) {
    shown = tool
    const kind = tool.outcome === undefined ? 'working' : tool.outcome === 'ok' ? 'ok' : 'failed'
    node.dataset['state'] = kind
    state.textContent = { working: 'running', ok: 'done', failed: 'failed' }[kind]
    subject.textContent = toVisible(subjectOf(tool.args))
    const duration = tool.durationMs === undefined ? '' : toDuration(tool.durationMs)
    const failure = kind === 'failed' ? (tool.message ?? tool.outcome ?? '') : ''
    outcome.textContent = [failure, duration].filter((text) => text !== '').join(' · ')
    if (node.open) body.replaceChildren(...bodyOf(tool))
  }
  update(first)
  return { node, update }
}

/** @param {ToolPart} tool */
function bodyOf({ args, progress, message, result, truncated, diff }) {
  const output = result ?? progress
  /** @type {Record<string, unknown>} */
  const { unifiedDiff, ...others } = { ...(typeof args === 'object' ? args : { args }) }
  // A patch is easier to read as a diff than as a JSON string.
  const patch = diff ?? (typeof unifiedDiff === 'string' ? unifiedDiff : undefined)
  return [
    ...section('Arguments', Object.keys(others).length === 0 ? '' : JSON.stringify(others, undefined, 2)),
    ...section('Message', message ?? ''),
    ...(patch === undefined
      ? []
      : [element('p', { class: 'label' }, diff === undefined ? 'Patch' : 'Changes'), diffView(patch)]),
    ...section(truncated === true ? 'Output (truncated)' : 'Output', output),
  ]
}

/**
 * @param {string} label
 * @param {string} text
 */
function section(label, text) {
  if (text === '') return []
  return [element('p', { class: 'label' }, label), element('pre', { class: 'output' }, toVisible(text))]
}
