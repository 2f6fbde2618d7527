import { parseCodexModels } from '../models/codex-model.ts'
import type { Model, ModelListing } from '../models/model.ts'
import type { DemoModels } from './executor.ts'

const toXhigh = ['low', 'medium', 'high', 'xhigh']

/** The models of a Plus plan, as Codex CLI 0.169 lists them; with widest context, in thousands of tokens. */
const rows = [
  { slug: 'gpt-6-sol', name: 'GPT-6 Sol', widest: 872, efforts: [...toXhigh, 'max', 'ultra'] },
  { slug: 'gpt-6-luna', name: 'GPT-6 Luna', widest: 872, efforts: [...toXhigh, 'max'] },
  { slug: 'gpt-5.6-luna', name: 'GPT-5.6 Luna', widest: 872, efforts: [...toXhigh, 'max'] },
  { slug: 'gpt-5.5', name: 'GPT-5.5', widest: 272, efforts: toXhigh },
  // The simulated Copilot has this model too, so that both providers offer one id.
  { slug: 'gpt-5.3-codex', name: 'GPT-5.3 Codex', widest: 272, efforts: toXhigh },
  { slug: 'codex-auto-review', name: 'Codex Auto Review', widest: 872, efforts: [...toXhigh, 'max'], isHidden: true },
] as const

const reply = {
  models: rows.map(({ slug, name, widest, efforts, ...row }, at) => ({
    slug,
    display_name: name,
    visibility: 'isHidden' in row ? 'hide' : 'list',
    priority: at + 1,
    context_window: 272_000,
    max_context_window: widest * 1000,
    input_modalities: ['text', 'image'],
    default_reasoning_level: 'medium',
    supported_reasoning_levels: efforts.map((effort) => ({ effort })),
    supports_reasoning_summary_parameter: true,
    support_verbosity: true,
    supports_parallel_tool_calls: true,
  })),
}

/** Codex's model list names no vendor, so models of the demo get one that says they are simulated. */
export function parseDemoCodexModels(of: unknown): ModelListing | undefined {
  const listing = parseCodexModels(of)
  return listing && { ...listing, models: listing.models.map(ownedByDemo) }
}

function ownedByDemo(model: Model): Model {
  return { ...model, vendor: 'Simulated OpenAI (demo)' }
}

export const codexModels: DemoModels = { reply, list: parseDemoCodexModels(reply)?.models ?? [] }
