import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { kinds } from '../sdk/kinds.ts'
import { emittedBy } from './emitted.ts'
import type { Emitted } from './emitted.ts'

/** Caller and upstream, e.g. `chat over messages`. */
export type Pair = `${UpstreamDialectId} over ${UpstreamDialectId}`

/** A way in which what is emitted differs from a schema, and why it stays so. */
export interface Exception {
  /** As a `Judge` words them. */
  readonly what: readonly string[]
  /** Where it is seen. */
  readonly pairs: readonly Pair[]
  readonly reason: string
}

export interface Verdict {
  /** Differences that no exception is made for, each with a request that shows it. */
  readonly unexpected: readonly string[]
  /** Exceptions for what is not seen any more. */
  readonly unused: readonly string[]
}

/** What is wrong with a value, e.g. `openai chunk/choices/#/delta/role: must be string`. */
export type Judge = (emitted: Emitted, pair: Pair) => readonly string[]

/** Asks every model everything as a caller of that dialect, and compares what comes with the schemas. */
export async function verdictOn(
  dialect: UpstreamDialectId,
  judge: Judge,
  exceptions: readonly Exception[],
): Promise<Verdict> {
  const expected = new Set(
    exceptions.flatMap(({ what, pairs }) => pairs.flatMap((pair) => what.map((each) => `${pair}: ${each}`))),
  )
  const seen = new Set<string>()
  const unexpected = new Map<string, string>()
  for (const { model, upstream } of kinds) {
    const pair: Pair = `${dialect} over ${upstream[dialect]}`
    for (const emitted of await emittedBy(dialect, model)) {
      for (const what of judge(emitted, pair)) {
        const found = `${pair}: ${what}`
        seen.add(found)
        if (!expected.has(found) && !unexpected.has(found))
          unexpected.set(found, `${found} (${model}, ${emitted.name})`)
      }
    }
  }
  return { unexpected: [...unexpected.values()], unused: [...expected].filter((found) => !seen.has(found)) }
}
