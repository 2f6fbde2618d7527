import { z } from 'zod'
import type { Executor } from '../executors/executor.ts'
import { copilotModelEntry } from './wire.ts'

/** Whether an account may use a model, and what GitHub asks it to accept. */
export interface ModelPolicy {
  readonly id: string
  /** Undefined: nothing gates the model. */
  readonly state: string | undefined
  readonly terms: string | undefined
}

const entry = copilotModelEntry.pick({ id: true }).extend({
  policy: z.looseObject({ state: z.string().nullish(), terms: z.string().nullish() }).nullish().catch(undefined),
})
const list = z.looseObject({ data: z.array(z.unknown()) })

/** Reads Copilot's `GET /models`; entries that cannot be read are left out. */
export function parseModelPolicies(reply: unknown): readonly ModelPolicy[] {
  return (list.safeParse(reply).data?.data ?? []).flatMap((value) => {
    const { id, policy } = entry.safeParse(value).data ?? {}
    if (id === undefined) return []
    return [{ id, state: policy ? (policy.state ?? 'unconfigured') : undefined, terms: policy?.terms ?? undefined }]
  })
}

/**
 * Accepts the terms of a model for the account of the executor. Source: docs/copilot-wire.md, "Models".
 * @throws Fault; `upstream_status` if GitHub refuses
 */
export async function enableModel(
  executor: Pick<Executor, 'json'>,
  id: string,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<void> {
  const call = {
    path: `/models/${encodeURIComponent(id)}/policy`,
    body: JSON.stringify({ status: 'enabled' }),
    headers: { 'openai-intent': 'conversation-agent' },
    initiator: 'user',
    hasImage: false,
    requestId,
  } as const
  await executor.json(call, { signal })
}
