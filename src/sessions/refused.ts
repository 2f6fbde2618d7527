import { Fault } from '../errors.ts'

/** Returns the Fault of a call that a session refuses. */
export function refused(
  problem: Extract<Fault['error'], { kind: 'session_refused' }>['problem'],
  detail?: string,
): Fault {
  return new Fault({ kind: 'session_refused', problem, ...(detail !== undefined && { detail }) })
}
