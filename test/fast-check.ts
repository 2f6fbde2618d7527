import { configureGlobal } from 'fast-check'

/**
 * Properties use the same cases in every run, so that a change only fails for what it did. `PROPERTY_SEED=random` looks
 * for new cases; `PROPERTY_SEED=N` repeats the seed that a failure names.
 */
const seed = process.env['PROPERTY_SEED'] ?? '1'
if (seed !== 'random') configureGlobal({ seed: Number(seed) })

// oxlint-disable-next-line no-barrel-file -- the same namespace that tests would import from the package
export * as fc from './fast-check-runs.ts'
