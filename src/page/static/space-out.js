/** A shorter call does not delay the next one. Ms. */
const shortMs = 8
/** The pause after a call, as a multiple of the time that the call took. */
const pauseFactor = 3

/**
 * Calls `act` with each value, or only with the last of several if a call takes long: then a pause follows, so that a text
 * that grows in many pieces is not parsed whole for each piece.
 * @template Value
 * @param {(value: Value) => void} act
 * @param {{ readonly now: () => number, readonly setTimer: (run: () => void, delayMs: number) => unknown }} clock in ms
 * @returns {(value: Value) => void}
 */
export function spaceOut(act, { now, setTimer }) {
  let readyAtMs = -Infinity
  /** @type {{ value: Value } | undefined} */
  let waiting

  /** @param {Value} value */
  function run(value) {
    const startMs = now()
    act(value)
    const endMs = now()
    readyAtMs = endMs - startMs < shortMs ? endMs : endMs + (endMs - startMs) * pauseFactor
  }

  return (value) => {
    if (waiting !== undefined) {
      waiting.value = value
      return
    }
    const delayMs = readyAtMs - now()
    if (delayMs <= 0) {
      run(value)
      return
    }
    const last = { value }
    waiting = last
    setTimer(() => {
      waiting = undefined
      run(last.value)
    }, delayMs)
  }
}
