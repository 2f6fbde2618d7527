/** @import { InstructionFile } from '../../api/run.ts' */

/*
 * The sentences about the context of a run, for the page and the terminal. Callers make foreign names visible.
 */

/**
 * @param {InstructionFile} file
 * @returns {string}
 */
export function instructionsSentence({ path, state, truncated }) {
  const cut = truncated === true ? ' Only its start fits into the context.' : ''
  return state === 'changed' ? `${path} has changed since the last run.${cut}` : `Uses ${path}.${cut}`
}
