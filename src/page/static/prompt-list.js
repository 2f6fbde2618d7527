/** @import { PromptList } from '../../api/sessions.ts' */
import { element } from './dom.js'

/** @typedef {PromptList['prompts'][number]} Prompt */

/**
 * Shows the prompts of MCP servers while a message begins with `/` and is one word.
 * @param {object} options
 * @param {() => Promise<readonly Prompt[]>} options.read
 * @param {(text: string) => void} options.onChoose gets the start of a message
 */
export function createPromptList({ read, onChoose }) {
  const node = element('ul', { class: 'prompts', 'aria-label': 'Prompts', hidden: true })
  /** @type {Promise<readonly Prompt[]> | undefined} read when the first message begins with `/` */
  let reading
  let typed = ''

  /** @param {string} text of the message */
  async function show(text) {
    typed = text
    const isStart = /^\/\S*$/.test(text)
    if (!isStart) {
      reading = undefined
      node.hidden = true
      return
    }
    reading ??= read().catch(() => [])
    const found = (await reading).filter((prompt) => nameOf(prompt).includes(text.slice(1)))
    // The message may have changed while the daemon answered.
    if (typed !== text) return
    node.replaceChildren(...found.map(toItem))
    node.hidden = found.length === 0
  }

  /** @param {Prompt} prompt */
  function toItem(prompt) {
    const { description, arguments: given = [] } = prompt
    const names = given.map(({ name, required }) => (required === true ? name : `[${name}]`))
    const choose = () => onChoose(`/${nameOf(prompt)}${given.length === 0 ? '' : ' '}`)
    return element(
      'li',
      {},
      element(
        'button',
        { type: 'button', class: 'quiet', click: choose },
        element('code', {}, ['/' + nameOf(prompt), ...names].join(' ')),
        description && element('span', { class: 'muted' }, description),
      ),
    )
  }

  return { node, show }
}

/** @param {Prompt} prompt */
function nameOf({ server, name }) {
  return `${server}:${name}`
}
