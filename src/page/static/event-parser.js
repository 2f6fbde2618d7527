/**
 * @typedef {object} StreamEvent
 * @property {string} id '' if the event has none
 * @property {string} event
 * @property {string} data
 */

/**
 * Parses server-sent events from chunks of text. The page cannot use EventSource, which cannot send a key. eventsource-parser 4.1
 * would add 24 KB to the 230 KB of its scripts, for line ends and fields that the daemon never sends.
 * @returns {{ push: (chunk: string) => StreamEvent[], lastId: () => string }} `push` takes the next chunk and returns the events
 *   that it completes. `lastId` is the id to resume after, which the daemon may also send without an event.
 */
export function createEventParser() {
  let rest = ''
  let id = ''
  let event = ''
  /** @type {string[]} */
  let data = []

  /**
   * @param {string} line
   * @returns {StreamEvent | undefined} the event that an empty line ends
   */
  function takeLine(line) {
    if (line === '') {
      const ended = data.length === 0 ? undefined : { id, event: event || 'message', data: data.join('\n') }
      event = ''
      data = []
      return ended
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'id') id = value
    else if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    return undefined
  }

  return {
    push(chunk) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      return lines.flatMap((line) => takeLine(line.replace(/\r$/, '')) ?? [])
    },
    lastId: () => id,
  }
}
