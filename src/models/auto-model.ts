import { z } from 'zod'
import { parseCopilotModels, toCopilotModel } from './copilot-model.ts'
import { copilotModelEntry, lenient } from './wire.ts'
import { chatEndpoint, messagesEndpoint, responsesEndpoint } from './endpoints.ts'
import type { Model, ModelListing } from './model.ts'

/** Upstream chooses the model. */
const autoModelId = 'auto'

/** How upstream weighs price against ability, as GitHub's CLI offers it (`--auto-tier`). */
const autoTiers = ['efficiency', 'balance', 'intelligence'] as const
export type AutoTier = (typeof autoTiers)[number]

/** `auto`, or `auto:efficiency` and the other tiers. */
export function isAutoModel({ provider, id }: Pick<Model, 'provider' | 'id'>): boolean {
  return provider === 'copilot' && (id === autoModelId || autoTierOf({ id }) !== undefined)
}

/** Undefined: upstream's own choice. */
export function autoTierOf({ id }: Pick<Model, 'id'>): AutoTier | undefined {
  return autoTiers.find((tier) => id === tierId(tier))
}

function tierId(tier: AutoTier): string {
  return `${autoModelId}:${tier}`
}

/** Reads Copilot's `GET /models` and adds `auto`. Undefined if it is no model list. */
export function parseAccountModels(reply: unknown): ModelListing | undefined {
  const listing = parseCopilotModels(reply)
  return listing && { ...listing, models: withAutoModel(listing.models) }
}

/**
 * Adds `auto` and its tiers. Its limits are the smallest of the models that upstream may choose, so that a prompt fits each: those with a
 * discount, else those that GitHub's clients offer.
 */
function withAutoModel(models: readonly Model[]): readonly Model[] {
  const open = models.filter(({ type, policy }) => type === 'chat' && (policy ?? 'enabled') === 'enabled')
  if (open.length === 0) return models
  const listed = models.find(isAutoModel)
  if (listed !== undefined) return [...models, ...autoTiers.map((tier) => toTier(listed, tier))]
  const discounted = open.filter(({ autoDiscount }) => autoDiscount !== undefined)
  const offered = open.filter(({ pickerEnabled, supports }) => pickerEnabled && supports.toolCalls === true)
  const pool = [discounted, offered].find((some) => some.length > 0) ?? open
  const auto: Model = {
    provider: 'copilot',
    id: autoModelId,
    name: 'Auto',
    type: 'chat',
    family: autoModelId,
    contextWindow: smallest(pool.map(({ contextWindow }) => contextWindow)),
    maxPromptTokens: smallest(pool.map(({ maxPromptTokens }) => maxPromptTokens)),
    maxOutputTokens: smallest(pool.map(({ maxOutputTokens }) => maxOutputTokens)),
    endpoints: [chatEndpoint, responsesEndpoint, messagesEndpoint],
    preview: false,
    // Set only if another model has them too: `auto` alone would hide all models without (`offeredModels`).
    policy: open.some(({ policy }) => policy === 'enabled') ? 'enabled' : undefined,
    pickerEnabled: open.some(({ pickerEnabled }) => pickerEnabled),
    source: 'live',
    supports: {
      toolCalls: pool.every(({ supports }) => supports.toolCalls === true),
      parallelToolCalls: pool.every(({ supports }) => supports.parallelToolCalls === true),
      // The request names images, and upstream chooses accordingly.
      vision: pool.some(({ supports }) => supports.vision === true),
      structuredOutputs: pool.every(({ supports }) => supports.structuredOutputs === true),
    },
  }
  return [...models, auto, ...autoTiers.map((tier) => toTier(auto, tier))]
}

/** Not listed (`pickerEnabled`), so that lists of clients stay short; the name works all the same. */
function toTier(auto: Model, tier: AutoTier): Model {
  return { ...auto, id: tierId(tier), name: `${auto.name} (${tier})`, pickerEnabled: false }
}

function smallest(stated: readonly (number | undefined)[]): number | undefined {
  const known = stated.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/**
 * Reply of `POST /auto`, and of the older `POST /models/session`, which names models by id alone.
 * Source: docs/copilot-wire.md, "Auto model".
 */
const autoReply = z.looseObject({
  session_token: z.string().min(1),
  /** Seconds since epoch. */
  expires_at: lenient(z.number().positive()),
  selected_model: lenient(
    z.union([
      z
        .string()
        .min(1)
        .transform((id) => ({ id })),
      copilotModelEntry,
    ]),
  ),
  available_models: lenient(z.array(lenient(z.string().min(1)))),
})

interface AutoReply {
  readonly sessionToken: string
  readonly expiresAtSeconds: number | undefined
  /** The chosen one first. */
  readonly candidates: readonly Model[]
}

/** Undefined if the reply names no token or no model. */
export function parseAutoReply(reply: unknown): AutoReply | undefined {
  const parsed = autoReply.safeParse(reply)
  if (!parsed.success) return undefined
  const { session_token: sessionToken, expires_at: expiresAt, selected_model: selected } = parsed.data
  const available = (parsed.data.available_models ?? []).flatMap((id) => (id ? [{ id }] : []))
  // Choosing `auto` is no choice.
  const candidates = (selected ? [selected] : available).map(toCopilotModel).filter((model) => !isAutoModel(model))
  return candidates.length === 0 ? undefined : { sessionToken, expiresAtSeconds: expiresAt ?? undefined, candidates }
}
