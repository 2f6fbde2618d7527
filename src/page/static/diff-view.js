/** @import { DiffFile, DiffLine } from './diff-lines.js' */
import { parseDiff } from './diff-lines.js'
import { element } from './dom.js'
import { plural } from './format.js'
import { toVisible } from './visible-text.js'

/** Number of lines that are shown at once. A button shows more. */
const linesAtOnce = 400

const signs = { added: '+', removed: '−', context: ' ', note: ' ' }
const spoken = { added: 'added', removed: 'removed', context: '', note: '' }

/**
 * @param {string} diff a unified diff
 * @returns {HTMLElement}
 */
export function diffView(diff) {
  const files = parseDiff(diff)
  if (files.length === 0) return element('pre', { class: 'output' }, toVisible(diff))
  return element('div', { class: 'diff' }, ...files.map(fileView))
}

/** @param {DiffFile} file */
function fileView({ path, change, added, removed, hunks }) {
  const rows = hunks.flatMap(({ header, lines }) => [hunkRow(header), ...lines.map((line) => () => lineRow(line))])
  const body = element('tbody')
  const columns = ['number old', 'number', 'sign', 'line'].map((name) => element('col', { class: name }))
  const table = element(
    'table',
    { 'aria-label': `Changes in ${toVisible(path)}` },
    element('colgroup', {}, ...columns),
    body,
  )
  const view = element(
    'figure',
    { class: 'diff-file' },
    element(
      'figcaption',
      {},
      element('code', {}, toVisible(path)),
      change === 'modified'
        ? undefined
        : element('span', { class: 'tag' }, change === 'created' ? 'new file' : 'deleted'),
      countsView(added, removed),
    ),
    table,
  )
  let drawn = 0
  function drawMore() {
    body.append(...rows.slice(drawn, drawn + linesAtOnce).map((row) => row()))
    drawn += linesAtOnce
    const left = rows.length - drawn
    if (left <= 0) return
    const more = element('button', { type: 'button', class: 'more' }, `Show ${plural(left, 'more line')}`)
    more.addEventListener('click', () => {
      more.remove()
      drawMore()
    })
    view.append(more)
  }
  drawMore()
  return view
}

/**
 * @param {number} added
 * @param {number} removed
 */
export function countsView(added, removed) {
  return element(
    'span',
    { class: 'counts' },
    element('span', { class: 'plus' }, `+${added}`),
    ' ',
    element('span', { class: 'minus' }, `−${removed}`),
  )
}

/** @param {string} header */
function hunkRow(header) {
  return () =>
    element(
      'tr',
      { class: 'hunk' },
      ...['number old', 'number', 'sign'].map((name) => element('td', { class: name })),
      element('td', { class: 'line' }, toVisible(header)),
    )
}

/** @param {DiffLine} line */
function lineRow({ kind, oldLine, newLine, text }) {
  return element(
    'tr',
    { class: kind },
    element('td', { class: 'number old' }, String(oldLine ?? '')),
    element('td', { class: 'number' }, String(newLine ?? '')),
    element(
      'td',
      { class: 'sign' },
      element('span', { 'aria-hidden': 'true' }, signs[kind]),
      spoken[kind] !== '' && element('span', { class: 'visually-hidden' }, spoken[kind]),
    ),
    element('td', { class: 'line' }, toVisible(text)),
  )
}
