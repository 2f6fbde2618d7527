/** @import { ContextUse, InstructionFile } from '../../api/run.ts' */

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

/**
 * Returns e.g. `12k of 128k tokens (9 %)`.
 * @param {ContextUse} context
 * @param {(count: number) => string} short
 * @returns {string}
 */
export function contextPhrase({ tokens, limit, isEstimated }, short) {
  const about = isEstimated === true ? 'about ' : ''
  if (limit === undefined) return `${about}${short(tokens)} tokens`
  return `${about}${short(tokens)} of ${short(limit)} tokens (${Math.round((100 * tokens) / limit)} %)`
}
