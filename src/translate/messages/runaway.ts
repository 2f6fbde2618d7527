import { Fault } from '../../errors.ts'

/** Endless whitespace in place of arguments. Behind whole arguments it is no more than the end of the answer. */
export function runawayFault(): Fault {
  return new Fault({
    kind: 'upstream_unusable',
    detail: 'it filled the arguments of a tool call with endless whitespace',
  })
}
