import * as fastCheck from 'fast-check'
import { times } from './thorough.ts'

// oxlint-disable-next-line no-barrel-file -- the package's own names, but for `assert`
export * from 'fast-check'

/** fast-check's own default. */
const usualRuns = 100

/** fast-check's `assert` with fewer cases, unless the run is thorough. */
export function assert<Ts>(property: fastCheck.IAsyncProperty<Ts>, params?: fastCheck.Parameters<Ts>): Promise<void>
export function assert<Ts>(property: fastCheck.IProperty<Ts>, params?: fastCheck.Parameters<Ts>): void
export function assert<Ts>(
  property: fastCheck.IRawProperty<Ts>,
  params?: fastCheck.Parameters<Ts>,
): Promise<void> | void {
  return fastCheck.assert(property, { ...params, numRuns: times(params?.numRuns ?? usualRuns) })
}
