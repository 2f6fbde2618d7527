import { Fault } from '../../src/errors.ts'

/** The error of a promise that rejects, that of a Fault without its envelope; undefined if it resolves. */
export const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof Fault ? error.error : error),
  )
