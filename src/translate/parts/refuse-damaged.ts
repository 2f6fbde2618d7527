import { Fault } from '../../errors.ts'
import { isTooDeep } from './wire-json.ts'

/**
 * Looks at the data of an event that is no JSON object. Another JSON value says nothing of an answer. Text that is not
 * JSON was a piece of it, or may have been: GitHub's own client passes over it, and takes what is left for the whole.
 * @throws Fault `upstream_unusable` where it is not JSON, and where it is too deep to be read
 */
export function refuseDamaged(data: string): void {
  if (isTooDeep(data)) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent an event that is nested too deeply' })
  }
  try {
    JSON.parse(data)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent an event that is not JSON' }, { cause })
  }
}
