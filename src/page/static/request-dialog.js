/** @import { RequestDetail } from '../../api/requests.ts' */
import { ask, key } from './api.js'
import { copyButton } from './copy-button.js'
import { curlCommand, isOfHttp } from './curl-command.js'
import { element } from './dom.js'
import { toCount, toCredits, toDateTime, toDuration } from './format.js'
import { requestFacts } from './request-words.js'
import { toVisible } from './visible-text.js'

/**
 * Creates the dialog that shows all data of one request.
 * @param {() => void} onClose
 */
export function createRequestDialog(onClose) {
  const title = element('h2', { id: 'request-title' }, 'Request')
  const body = element('div', { class: 'request-body', tabindex: 0, role: 'region', 'aria-label': 'Details' })
  const close = element('button', { type: 'button', class: 'quiet', click: () => node.close() }, 'Close')
  const node = element(
    'dialog',
    { class: 'request', 'aria-labelledby': 'request-title', close: onClose },
    element('header', {}, title, close),
    body,
  )
  // A click outside the dialog closes it.
  node.addEventListener('click', ({ target }) => {
    if (target === node) node.close()
  })

  return {
    node,
    /** @param {string} id */
    async show(id) {
      title.textContent = `Request ${id.slice(0, 8)}`
      body.replaceChildren(element('p', { class: 'muted' }, 'Loading …'))
      if (!node.open) node.showModal()
      try {
        body.replaceChildren(...contentOf(await ask(`requests/${encodeURIComponent(id)}`)))
      } catch (error) {
        body.replaceChildren(
          element('p', { class: 'failure', role: 'alert' }, error instanceof Error ? error.message : String(error)),
        )
      }
    },
    hide() {
      if (node.open) node.close()
    },
  }
}

/** @param {RequestDetail} request */
function contentOf(request) {
  const { request_headers: headers } = request
  const curl = curlCommand(request, { url: location.origin, isKeyAsked: key.get() !== '' })
  const facts = requestFacts(request, {
    time: toDateTime,
    count: toCount,
    credits: (credits) => `${toCredits(credits)}${request.estimated ? ', estimated' : ''}`,
    duration: toDuration,
  })
  return [
    element(
      'dl',
      { class: 'facts' },
      ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, toVisible(value))]),
    ),
    ...notesOf('Warnings: parts that were lost or changed', request.warnings),
    ...notesOf('Adapted: changes without a loss', request.adapted),
    ...(curl === undefined
      ? []
      : [
          element(
            'div',
            { class: 'heading-row' },
            element('h3', {}, 'Repeat it with curl'),
            copyButton(() => curl, 'Copy the curl command'),
          ),
          element('pre', { class: 'output' }, curl),
        ]),
    ...(curl === undefined && isOfHttp(request)
      ? [element('p', { class: 'muted' }, 'No command repeats this request, because its body was not stored in full.')]
      : []),
    ...(headers
      ? [
          element('h3', {}, 'Request headers'),
          element(
            'dl',
            { class: 'facts' },
            ...Object.entries(headers).flatMap(([name, value]) => [
              element('dt', {}, name),
              element('dd', {}, toVisible(value)),
            ]),
          ),
        ]
      : []),
    ...bodiesOf(request),
  ]
}

/**
 * @param {string} title
 * @param {readonly string[]} notes
 */
function notesOf(title, notes) {
  if (notes.length === 0) return []
  return [
    element('h3', {}, title),
    element('ul', { class: 'notes' }, ...notes.map((note) => element('li', {}, toVisible(note)))),
  ]
}

/** @param {RequestDetail} request */
function bodiesOf({
  bodies,
  request_body: sent,
  request_body_truncated: isSentCut,
  answer_body: answer,
  answer_body_truncated: isAnswerCut,
}) {
  if (bodies === 'not_kept') return [element('p', { class: 'muted' }, 'Bodies are kept only while log.bodies is on.')]
  return [...bodyOf('Request body', sent, isSentCut), ...bodyOf('Answer', answer, isAnswerCut)]
}

/**
 * @param {string} title
 * @param {string | null} text
 * @param {boolean} isCut
 */
function bodyOf(title, text, isCut) {
  if (text === null) return []
  return [
    element(
      'div',
      { class: 'heading-row' },
      element('h3', {}, isCut ? `${title}, the first part` : title),
      copyButton(() => text, `Copy: ${title}`),
    ),
    element(
      'pre',
      { class: 'output tall', tabindex: 0, role: 'region', 'aria-label': title },
      toVisible(indented(text)),
    ),
  ]
}

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
