/** @import { KeyList } from '../../api/keys.ts' */
import { ask } from './api.js'
import { launched, printed } from './client-list.js'
import { commandLine } from './command-line.js'
import { copyButton } from './copy-button.js'
import { element } from './dom.js'
import { createView } from './view.js'

/**
 * One command for each client, and the lines for SDKs.
 * @param {(error: unknown) => void} onFailure
 */
export function createClientsView(onFailure) {
  let shown = ''
  const sdks = element('div', { class: 'cards wide' })
  const keyNote = element('p', { class: 'muted' })
  return createView(
    {
      title: 'Clients',
      lead: 'Copy a command into a terminal. Any program with a base URL of OpenAI or Anthropic works.',
      read,
      everyMs: () => Infinity,
      onFailure,
    },
    element(
      'section',
      { class: 'client-group' },
      element('h3', {}, 'Start a client'),
      element(
        'p',
        { class: 'muted' },
        '“launch” holds for one run. “setup” writes the settings into the client, keeps a backup and can undo.',
      ),
      element(
        'div',
        { class: 'cards wide' },
        ...launched.map(({ id, name, hasSetup }) =>
          element(
            'section',
            { class: 'card' },
            element('h4', {}, name),
            commandLine(`copilot-proxy launch ${id}`),
            commandLine(hasSetup ? `copilot-proxy setup ${id}` : `copilot-proxy setup ${id} --print`),
          ),
        ),
      ),
    ),
    element('section', { class: 'client-group' }, element('h3', {}, 'SDKs and your own programs'), keyNote, sdks),
    element(
      'section',
      { class: 'client-group' },
      element('h3', {}, 'Settings to copy into a client'),
      element(
        'ul',
        { class: 'client-list' },
        ...printed.map(({ id, name }) =>
          element('li', {}, element('span', {}, name), commandLine(`copilot-proxy setup ${id}`)),
        ),
      ),
    ),
  )

  async function read() {
    /** @type {KeyList} */
    const { keys } = await ask('keys')
    const key = keys.length === 0 ? 'copilot-proxy' : 'YOUR_KEY'
    keyNote.textContent =
      keys.length === 0
        ? 'No key is configured, so the key can be any text.'
        : 'Put one of your keys in place of YOUR_KEY. To make one, run: copilot-proxy key add NAME'
    const next = linesOf(location.origin, key)
    if (JSON.stringify(next) === shown) return
    shown = JSON.stringify(next)
    sdks.replaceChildren(...next.map(([name, text]) => codeCard(name, text)))
  }
}

/**
 * @param {string} origin
 * @param {string} key
 * @returns {readonly (readonly [name: string, text: string])[]}
 */
function linesOf(origin, key) {
  const body = '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Say hello"}]}'
  return [
    ['OpenAI SDKs', `export OPENAI_BASE_URL=${origin}/v1\nexport OPENAI_API_KEY=${key}`],
    ['Anthropic SDKs', `export ANTHROPIC_BASE_URL=${origin}\nexport ANTHROPIC_API_KEY=${key}`],
    [
      'curl',
      `curl ${origin}/v1/chat/completions \\\n  -H 'content-type: application/json' \\\n  -H 'authorization: Bearer ${key}' \\\n  -d '${body}'`,
    ],
  ]
}

/**
 * @param {string} name
 * @param {string} text
 */
function codeCard(name, text) {
  return element(
    'section',
    { class: 'card' },
    element(
      'header',
      {},
      element('h4', {}, name),
      copyButton(() => text, `Copy the lines for ${name}`),
    ),
    element('pre', { class: 'output lines', tabindex: 0, role: 'region', 'aria-label': `Lines for ${name}` }, text),
  )
}
