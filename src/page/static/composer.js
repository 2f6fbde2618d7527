/** @import { Attachment, MessageInput } from '../../api/inputs.ts' */
/** @import { RunMode } from '../../api/run.ts' */
import { readAttachment } from './attachments.js'
import { element } from './dom.js'
import { createSuggestions } from './suggestions.js'

/** Where the browser keeps the chosen model. */
const storedModel = 'copilot-proxy model'

/**
 * Creates the form for a message. Enter sends it, Shift+Enter starts a new line, and names that it can contain are suggested.
 * @param {(message: MessageInput) => Promise<void>} send
 * @param {readonly import('./suggestions.js').Source[]} sources
 */
export function createComposer(send, sources) {
  /** @type {Attachment[]} */
  let attachments = []
  const text = element('textarea', {
    id: 'message-text',
    rows: 2,
    required: true,
    placeholder: 'Ask about the code, or give the agent a goal. @path attaches a file.',
    keydown: onKey,
    input: onInput,
    paste: (/** @type {ClipboardEvent} */ event) => void add(event.clipboardData?.files),
  })
  const chat = element('input', { type: 'radio', name: 'mode', value: 'chat', checked: true, change: showMode })
  const plan = element('input', { type: 'radio', name: 'mode', value: 'plan', change: showMode })
  const agent = element('input', { type: 'radio', name: 'mode', value: 'agent', change: showMode })
  const modes = /** @type {const} */ ({ chat, plan, agent })
  const model = element(
    'select',
    { id: 'message-model', change: () => localStorage.setItem(storedModel, model.value) },
    element('option', { value: '' }, 'Default model'),
  )
  const steps = element('input', {
    id: 'message-steps',
    type: 'number',
    min: 1,
    max: 500,
    inputmode: 'numeric',
    placeholder: 'default',
  })
  const stepsField = element(
    'div',
    { class: 'field', hidden: true },
    element('label', { for: 'message-steps' }, 'Max steps'),
    steps,
  )
  const files = element('input', {
    id: 'message-files',
    type: 'file',
    multiple: true,
    class: 'visually-hidden',
    change: () => void onFiles(),
  })
  const suggestions = createSuggestions(text, sources, onInput)
  const chips = element('ul', { class: 'chips', 'aria-label': 'Attachments', hidden: true })
  const failure = element('p', { class: 'failure', role: 'alert', hidden: true })
  const submit = element('button', { type: 'submit', class: 'primary' }, 'Send')
  const node = element(
    'form',
    {
      class: 'composer',
      'aria-label': 'Message',
      submit: (/** @type {SubmitEvent} */ event) => void onSubmit(event),
      dragover: (/** @type {DragEvent} */ event) => event.preventDefault(),
      drop: (/** @type {DragEvent} */ event) => {
        event.preventDefault()
        void add(event.dataTransfer?.files)
      },
    },
    failure,
    chips,
    suggestions.node,
    element('label', { for: 'message-text', class: 'visually-hidden' }, 'Message'),
    text,
    element(
      'div',
      { class: 'composer-row' },
      element(
        'fieldset',
        { class: 'segmented' },
        element('legend', { class: 'visually-hidden' }, 'Mode'),
        element('label', {}, chat, element('span', {}, 'Chat')),
        element(
          'label',
          { title: 'The agent plans, and changes nothing until you accept its plan' },
          plan,
          element('span', {}, 'Plan'),
        ),
        element('label', {}, agent, element('span', {}, 'Agent')),
      ),
      element('div', { class: 'field' }, element('label', { for: 'message-model' }, 'Model'), model),
      stepsField,
      element(
        'span',
        { class: 'file-field' },
        files,
        element('label', { for: 'message-files', class: 'button quiet' }, 'Attach'),
      ),
      submit,
    ),
  )

  function showMode() {
    stepsField.hidden = chat.checked
  }

  function onInput() {
    grow()
    void suggestions.update()
  }

  function grow() {
    text.style.height = 'auto'
    text.style.height = `${Math.min(text.scrollHeight + 2, 240)}px`
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (suggestions.onKey(event) || event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    node.requestSubmit()
  }

  async function onFiles() {
    await add(files.files)
    files.value = ''
  }

  /** @param {FileList | null | undefined} list */
  async function add(list) {
    try {
      for (const file of list ?? []) attachments.push(await readAttachment(file))
      fail('')
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error))
    }
    showChips()
  }

  function showChips() {
    chips.hidden = attachments.length === 0
    chips.replaceChildren(
      ...attachments.map((attachment) => {
        const remove = () => {
          attachments = attachments.filter((each) => each !== attachment)
          showChips()
          text.focus()
        }
        const label = `Remove ${attachment.name}`
        return element(
          'li',
          {},
          attachment.name,
          element('button', { type: 'button', 'aria-label': label, click: remove }, '×'),
        )
      }),
    )
  }

  /** @param {string} message */
  function fail(message) {
    failure.textContent = message
    failure.hidden = message === ''
  }

  /** @param {SubmitEvent} event */
  async function onSubmit(event) {
    event.preventDefault()
    if (submit.disabled || text.value.trim() === '') return
    submit.disabled = true
    fail('')
    try {
      const maxSteps = !chat.checked && steps.value !== '' ? Number(steps.value) : undefined
      await send({
        text: text.value,
        mode: plan.checked ? 'plan' : agent.checked ? 'agent' : 'chat',
        ...(model.value !== '' && { model: model.value }),
        ...(maxSteps !== undefined && { maxSteps }),
        ...(attachments.length > 0 && { attachments }),
      })
      text.value = ''
      attachments = []
      showChips()
      onInput()
    } catch (error) {
      // Keep the text, so that the user can send it again.
      fail(error instanceof Error ? error.message : String(error))
    } finally {
      submit.disabled = false
    }
  }

  return {
    node,
    focus: () => text.focus(),
    /** The chosen model; '' for the default. */
    model: () => model.value,
    /** @param {{ readonly text: string, readonly mode: RunMode }} message to change and send */
    edit(message) {
      text.value = message.text
      modes[message.mode].checked = true
      showMode()
      grow()
      text.focus()
    },
    /** The person has accepted a plan: the next messages are for the agent. */
    endPlan() {
      if (plan.checked) agent.checked = true
      showMode()
    },
    /** @param {readonly string[]} ids */
    setModels(ids) {
      const chosen = model.value || localStorage.getItem(storedModel) || ''
      model.replaceChildren(
        element('option', { value: '' }, 'Default model'),
        ...ids.map((id) => element('option', { value: id }, id)),
      )
      if (ids.includes(chosen)) model.value = chosen
    },
  }
}
