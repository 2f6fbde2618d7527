import type { ListingOutcome } from '../../doctor/models-check.ts'
import { Fault } from '../../errors.ts'
import type { Executor } from '../../executors/executor.ts'
import type { ModelListing } from '../../models/model.ts'

/** Asks for a list of models, within so many milliseconds. */
export async function tryList(
  executor: Pick<Executor, 'listModels'>,
  parse: (reply: unknown) => ModelListing | undefined,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<ListingOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const listing = parse(await executor.listModels({ signal: AbortSignal.any([signal, timeout]) }))
    return listing === undefined ? { kind: 'unusable' } : { kind: 'listed', listing }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'fault', error: error.error }
    if (!timeout.aborted) throw error
    return { kind: 'fault', error: { kind: 'upstream_silent', phase: 'headers', afterMs: timeoutMs } }
  }
}
