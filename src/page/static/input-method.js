/** The key code of a key that an input method has taken. Source: UI Events, keyCode, 2026-11. */
const takenByInputMethod = 229

/**
 * Keeps the Enter that accepts a word of an input method from sending anything, in every text field. In Safari this Enter comes
 * after the end of the composition, so that only its key code shows it.
 */
export function guardInputMethods() {
  document.addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Enter' || !(event.isComposing || event.keyCode === takenByInputMethod)) return
      event.stopImmediatePropagation()
      // A field of a form would submit it.
      if (event.target instanceof HTMLInputElement) event.preventDefault()
    },
    { capture: true },
  )
}
