/** @import { FileList, PromptList } from '../../api/sessions.ts' */
import { element } from './dom.js'

/**
 * @typedef {object} Suggestion
 * @property {string} text replaces what was typed
 * @property {string} label
 * @property {string | undefined} [description]
 */

/**
 * Names that a message can contain.
 * @typedef {object} Source
 * @property {string} name of the list
 * @property {RegExp} typed matches the end of the text before the cursor; its group is the typed part of a name, after one sign
 * @property {() => Promise<(typed: string) => readonly Suggestion[]>} read
 */

/** More suggestions hide the messages, and the next letter leaves fewer. */
const mostShown = 10

const listId = 'suggestions'

/**
 * Suggests names while one is typed: the arrow keys choose, Enter and Tab take the chosen one, and Escape hides the list.
 * @param {HTMLTextAreaElement} field
 * @param {readonly Source[]} sources
 * @param {() => void} onTake
 */
export function createSuggestions(field, sources, onTake) {
  const node = element('ul', { class: 'suggestions', id: listId, role: 'listbox', hidden: true })
  /** @type {readonly Suggestion[]} */
  let shown = []
  let chosen = 0
  /** Where the typed name begins, with its sign. */
  let start = 0
  /** @type {{ source: Source, find: Promise<(typed: string) => readonly Suggestion[]> } | undefined} */
  let reading
  let updates = 0

  field.setAttribute('aria-autocomplete', 'list')

  function hide() {
    shown = []
    node.hidden = true
    field.removeAttribute('aria-controls')
    field.removeAttribute('aria-activedescendant')
  }

  async function update() {
    const number = ++updates
    const before = field.value.slice(0, field.selectionStart)
    const source = sources.find(({ typed }) => typed.test(before))
    const typed = source?.typed.exec(before)?.[1] ?? ''
    if (source === undefined) {
      reading = undefined
      hide()
      return
    }
    if (reading?.source !== source) reading = { source, find: source.read().catch(() => () => []) }
    const find = await reading.find
    // The message may have changed while the daemon answered.
    if (number !== updates) return
    const found = find(typed)
    start = before.length - typed.length - 1
    // A whole name is sent with the next Enter.
    const isWhole = found.some(({ text }) => text.trim() === before.slice(start))
    if (found.length === 0 || isWhole) hide()
    else show(source.name, found.slice(0, mostShown))
  }

  /**
   * @param {string} name
   * @param {readonly Suggestion[]} found
   */
  function show(name, found) {
    shown = found
    node.setAttribute('aria-label', name)
    node.replaceChildren(...found.map(toOption))
    node.hidden = false
    field.setAttribute('aria-controls', listId)
    choose(0)
  }

  /**
   * @param {Suggestion} suggestion
   * @param {number} index
   */
  function toOption({ label, description }, index) {
    return element(
      'li',
      {
        id: `${listId}-${index}`,
        role: 'option',
        // The field keeps the focus.
        mousedown: (/** @type {MouseEvent} */ event) => event.preventDefault(),
        click: () => take(index),
      },
      element('code', {}, label),
      description && element('span', { class: 'muted' }, description),
    )
  }

  /** @param {number} index */
  function choose(index) {
    chosen = (index + shown.length) % shown.length
    for (const [at, option] of [...node.children].entries()) {
      option.setAttribute('aria-selected', String(at === chosen))
      if (at === chosen) option.scrollIntoView({ block: 'nearest' })
    }
    field.setAttribute('aria-activedescendant', `${listId}-${chosen}`)
  }

  /** @param {number} index */
  function take(index) {
    const { text = '' } = shown[index] ?? {}
    const isBeforeSpace = /^\s/.test(field.value.slice(field.selectionStart))
    field.setRangeText(isBeforeSpace ? text.trimEnd() : text, start, field.selectionStart, 'end')
    hide()
    onTake()
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key was for the list
   */
  function onKey(event) {
    if (node.hidden || event.shiftKey) return false
    if (event.key === 'ArrowDown') choose(chosen + 1)
    else if (event.key === 'ArrowUp') choose(chosen - 1)
    else if (event.key === 'Escape') hide()
    else if (event.key === 'Enter' || event.key === 'Tab') take(chosen)
    else return false
    event.preventDefault()
    return true
  }

  return { node, update, onKey }
}

/**
 * The prompts of MCP servers, while a message begins with `/` and is one word.
 * @param {() => Promise<PromptList>} read
 * @returns {Source}
 */
export function promptSource(read) {
  return {
    name: 'Prompts',
    typed: /^\/(\S*)$/,
    async read() {
      const { prompts } = await read()
      const all = prompts.map(({ server, name, description, arguments: given = [] }) => {
        const names = given.map((argument) => (argument.required === true ? argument.name : `[${argument.name}]`))
        const start = `/${server}:${name}`
        return { text: start + (given.length === 0 ? '' : ' '), label: [start, ...names].join(' '), description }
      })
      return (typed) => all.filter(({ text }) => text.trimEnd().includes(typed, 1))
    },
  }
}

/**
 * The files of the workspace, after an `@` that begins a word.
 * @param {() => Promise<FileList>} read
 * @returns {Source}
 */
export function fileSource(read) {
  return {
    name: 'Files',
    typed: /(?:^|[\s([{<"'`,;:])@([^\s"]*)$/,
    async read() {
      const { files } = await read()
      // A mention cannot have this sign in its name.
      const all = files.filter((path) => !path.includes('"'))
      return (typed) =>
        findFiles(all, typed).map((path) => ({
          text: `@${/^[\w/.-]*\w$/.test(path) ? path : `"${path}"`} `,
          label: path,
        }))
    },
  }
}

/**
 * Returns the paths that contain a text in capitals or not: first those whose file begins with it, then those that begin with it.
 * @param {readonly string[]} paths sorted
 * @param {string} text
 * @returns {readonly string[]}
 */
function findFiles(paths, text) {
  const wanted = text.toLowerCase()
  /** @type {[string[], string[], string[]]} */
  const ranks = [[], [], []]
  for (const path of paths) {
    const lower = path.toLowerCase()
    if (!lower.includes(wanted)) continue
    const isFile = lower.startsWith(wanted, lower.lastIndexOf('/') + 1)
    ranks[isFile ? 0 : lower.startsWith(wanted) ? 1 : 2].push(path)
  }
  return ranks.flat()
}
