/** @import { ServerEntry, SessionEntry, SessionPolicy, StreamEntry, StreamSummary } from '../../api/sessions.ts' */
import { ask } from './api.js'
import { commandLine } from './command-line.js'
import { element } from './dom.js'
import { plural, toDateTime } from './format.js'
import { toVisible } from './visible-text.js'

/** Number of newest entries that the page reads when a stream is opened. */
const shownEntries = 50

/** Creates the dialog with the streams of providers and the MCP servers of a session. */
export function createSessionDialog() {
  const title = element('h2', { id: 'session-title' }, 'Session')
  const body = element('div', { class: 'request-body', tabindex: 0, role: 'region', 'aria-label': 'Details' })
  const close = element('button', { type: 'button', class: 'quiet', click: () => node.close() }, 'Close')
  const node = element(
    'dialog',
    { class: 'request', 'aria-labelledby': 'session-title' },
    element('header', {}, title, close),
    body,
  )
  // A click outside the dialog closes it.
  node.addEventListener('click', ({ target }) => {
    if (target === node) node.close()
  })

  return {
    node,
    /** @param {SessionEntry} session */
    async show({ id, name, sandbox, readOnly }) {
      title.textContent = toVisible(name)
      body.replaceChildren(element('p', { class: 'muted' }, 'Loading …'))
      node.showModal()
      const path = `sessions/${encodeURIComponent(id)}`
      try {
        /** @type {[SessionPolicy, { servers: readonly ServerEntry[] }, { streams: readonly StreamSummary[] }]} */
        const [policy, { servers }, { streams }] = await Promise.all([
          ask(`${path}/policy`),
          ask(`${path}/servers`),
          ask(`${path}/streams`),
        ])
        body.replaceChildren(
          element('h3', {}, 'What is allowed here'),
          ...policyView(policy, readOnly),
          element('h3', {}, 'Commands'),
          element('p', sandbox.holds === 'none' ? { class: 'failure' } : {}, toVisible(sandbox.description)),
          element('h3', {}, 'MCP servers'),
          ...(servers.length === 0 ? [nothing('No MCP server is configured.')] : servers.map(serverView)),
          element('h3', {}, 'Streams'),
          ...(streams.length === 0
            ? [nothing('No tool program has sent anything yet.')]
            : streams.map((stream) => streamView(stream, `${path}/streams/${encodeURIComponent(stream.name)}`))),
        )
      } catch (error) {
        body.replaceChildren(failureOf(error))
      }
    },
  }
}

/** @param {string} text */
function nothing(text) {
  return element('p', { class: 'muted' }, text)
}

/** @param {unknown} error */
function failureOf(error) {
  return element('p', { class: 'failure', role: 'alert' }, error instanceof Error ? error.message : String(error))
}

/**
 * @param {SessionPolicy} policy
 * @param {SessionEntry['readOnly']} readOnly
 */
function policyView({ files, unconfirmed, reads, writes, shell, always, problem }, readOnly) {
  const access =
    readOnly === 'locked'
      ? 'The workspace is locked: nothing is changed or run, whoever asks.'
      : readOnly
        ? 'The workspace is read-only: nothing is changed or run but what you allow the agent.'
        : files.length === 0
          ? 'The workspace has no policy: nothing is changed or run but what you allow the agent.'
          : 'The policy decides. The agent asks first.'
  return [
    element('p', {}, access),
    ...(problem === undefined ? [] : [element('p', { class: 'failure' }, toVisible(problem))]),
    ...namesOf('Policies that nobody has confirmed, so they allow nothing', unconfirmed),
    ...(unconfirmed.length === 0
      ? []
      : [element('p', { class: 'muted' }, 'To read and confirm them: ', commandLine('copilot-proxy policy trust'))]),
    ...namesOf('Writes allowed', writes.allow),
    ...namesOf('Writes denied', writes.deny),
    ...namesOf('Commands allowed', shell.allow),
    ...namesOf('Hosts that commands reach in the sandbox', shell.network),
    ...namesOf('Secrets that may be read', reads.allow),
    ...namesOf('Reads denied', reads.deny),
    ...namesOf('What you have allowed the agent always', always),
    ...(always.length === 0
      ? []
      : [element('p', { class: 'muted' }, 'To take one back: ', commandLine('copilot-proxy policy forget'))]),
  ]
}

/** @param {ServerEntry} server */
function serverView({ name, state, error, problems = [], tools, resources, templates, prompts }) {
  return element(
    'details',
    { class: 'tool' },
    element(
      'summary',
      {},
      element('span', { class: 'tool-name' }, toVisible(name)),
      element('span', { class: state === 'failed' ? 'tag warn' : 'tag' }, state),
      element('span', { class: 'tool-outcome' }, plural(tools.length, 'tool')),
    ),
    element(
      'div',
      { class: 'tool-body' },
      error !== undefined && element('p', { class: 'failure' }, toVisible(error)),
      ...problems.map((problem) => element('p', { class: 'failure' }, `A tool is left out: ${toVisible(problem)}`)),
      ...namesOf('Tools', tools),
      ...namesOf('Resources', [...resources, ...templates].map(nameOf)),
      ...namesOf('Prompts', prompts.map(nameOf)),
      tools.length + resources.length + templates.length + prompts.length === 0 &&
        nothing(
          state === 'stopped' ? 'It starts when its tools are needed.' : 'It has no tools, resources or prompts.',
        ),
    ),
  )
}

/** @param {ServerEntry['resources'][number]} entry */
function nameOf({ name, description }) {
  return description ? `${name}: ${description}` : name
}

/**
 * @param {string} label
 * @param {readonly string[]} names
 */
function namesOf(label, names) {
  if (names.length === 0) return []
  const list = element('ul', {}, ...names.map((name) => element('li', {}, toVisible(name))))
  return [element('p', { class: 'label' }, label), list]
}

/**
 * Shows a closed stream. Opening it reads its entries.
 * @param {StreamSummary} stream
 * @param {string} path
 */
function streamView({ name, entries, lastTime }, path) {
  const body = element('div', { class: 'tool-body' })
  const node = element(
    'details',
    { class: 'tool' },
    element(
      'summary',
      {},
      element('span', { class: 'tool-name' }, toVisible(name)),
      element('span', { class: 'tool-outcome' }, `${entries} · last ${toDateTime(lastTime)}`),
    ),
    body,
  )
  node.addEventListener('toggle', () => {
    if (node.open) void read()
  })

  async function read() {
    try {
      /** @type {{ entries: readonly StreamEntry[] }} */
      const answer = await ask(`${path}?limit=${shownEntries}`)
      body.replaceChildren(...answer.entries.map(entryView))
    } catch (error) {
      body.replaceChildren(failureOf(error))
    }
  }
  return node
}

/** @param {StreamEntry} entry */
function entryView({ id: _id, time, provider, level, text, ...facts }) {
  const label = [toDateTime(time), provider, level].filter((each) => each !== undefined)
  return element(
    'div',
    {},
    element('p', { class: 'label' }, toVisible(label.join(' · '))),
    // The audit line of a call has facts in place of a text.
    element('pre', { class: 'output' }, toVisible(text ?? JSON.stringify(facts, undefined, 1))),
  )
}
