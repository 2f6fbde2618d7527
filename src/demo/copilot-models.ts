import { parseAccountModels } from '../models/auto-model.ts'
import type { DemoModels } from './executor.ts'

/** A model of the simulated Copilot. Sizes are in thousands of tokens. */
interface Row {
  readonly id: string
  readonly vendor: string
  readonly limits: readonly [context: number, prompt: number, output: number]
  readonly version?: string
  /** Default: `chat`. */
  readonly type?: 'embeddings' | 'completion'
  /** Absent: chat. */
  readonly endpoints?: readonly string[]
  readonly efforts?: readonly string[]
  /** Most images of a request. */
  readonly images?: number
  readonly multiplier?: number
  readonly price?: Price
  /** The prompt where the default tier ends; longer ones cost more. */
  readonly defaultPrompt?: number
  /** What the model supports beyond its family. */
  readonly supports?: Readonly<Record<string, unknown>>
  readonly info?: string
  readonly warning?: string
  readonly policy?: string
  readonly isHidden?: boolean
}

/** AI credits per million tokens. */
type Price = readonly [input: number, output: number, cacheRead: number, cacheWrite?: number]
type Family = Omit<Row, 'id' | 'limits'>

/** The models that `auto` may choose. */
const autoPool = new Set(['gpt-5-mini', 'claude-sonnet-5', 'gpt-5.4', 'claude-haiku-4.5'])

const chat = '/chat/completions'
const responses = ['/responses', 'ws:/responses']
const messages = '/v1/messages'
const lmh = ['low', 'medium', 'high']
const toXhigh = [...lmh, 'xhigh']
const enabled = { policy: 'enabled', multiplier: 1 }
const hidden = { isHidden: true }
const search = { tool_search: true }

// Vendor names keep the real words, because clients recognise families by them, and state that the answers are simulated.
// Figures and endpoints follow lists captured in March 2026 and the catalogue inside GitHub's CLI of late 2026
// (docs/copilot-wire.md, "Models"); efforts, prices and multipliers of the newest models are made up.
const azure: Family = { ...enabled, vendor: 'Simulated Azure OpenAI (demo)', multiplier: 0 }
const openai: Family = { ...enabled, vendor: 'Simulated OpenAI (demo)', efforts: lmh, images: 1 }
const gpt: Family = { ...openai, endpoints: responses, price: [175, 1400, 17.5] }
const gptOnChat: Family = { ...openai, endpoints: [chat, ...responses], price: [125, 1000, 12.5] }
const gpt6: Family = { ...gpt, efforts: ['none', ...toXhigh], supports: search, defaultPrompt: 272 }
const claude: Family = {
  ...enabled,
  vendor: 'Simulated Anthropic (demo)',
  endpoints: [messages, chat],
  images: 5,
  price: [300, 1500, 30, 375],
  supports: { ...search, context_editing: true },
}
const opus: Family = { ...claude, multiplier: 3, price: [500, 2500, 50, 625] }
const sonnet5: Family = { ...adaptive(claude), efforts: [...toXhigh, 'max'] }
const opus5: Family = { ...sonnet5, multiplier: 3, price: [500, 2500, 50, 625] }
const google = { vendor: 'Simulated Google (demo)', images: 10 }
const gemini: Family = { ...enabled, ...google, efforts: lmh, price: [200, 1200, 20] }
const grok: Family = { ...enabled, vendor: 'Simulated xAI (demo)', efforts: lmh, price: [300, 1500, 75] }
const kimi: Family = { ...enabled, vendor: 'Simulated Moonshot AI (demo)', multiplier: 0.33 }
const mai: Family = { ...enabled, vendor: 'Simulated Microsoft (demo)', multiplier: 0.33, efforts: lmh }

function adaptive(family: Family): Family {
  return { ...family, supports: { ...family.supports, adaptive_thinking: true } }
}

function budget(family: Family): Family {
  return { ...family, supports: { ...family.supports, min_thinking_budget: 1024, max_thinking_budget: 32_000 } }
}

function model(family: Family, id: string, limits: Row['limits'], own: Partial<Row> = {}): Row {
  return { ...family, id, limits, ...own }
}

const rows: readonly Row[] = [
  model(gptOnChat, 'gpt-5-mini', [264, 128, 64], { ...azure, price: [25, 200, 2.5] }),
  model(gptOnChat, 'gpt-5', [400, 128, 128], { vendor: azure.vendor }),
  model(gptOnChat, 'gpt-5.1', [264, 128, 64], { efforts: ['none', ...lmh] }),
  model(gptOnChat, 'gpt-5.2', [1050, 922, 128], { efforts: ['none', ...toXhigh], defaultPrompt: 272 }),
  model(gpt, 'gpt-5.4', [400, 272, 128], { supports: search, price: [250, 1500, 25] }),
  model(gpt, 'gpt-5.6', [400, 272, 128], { efforts: ['none', ...toXhigh] }),
  model(gpt, 'gpt-5.3-codex', [400, 272, 128], { efforts: toXhigh }),
  model(azure, 'gpt-4.1', [128, 128, 16], { version: 'gpt-4.1-2025-04-14', images: 1, price: [200, 800, 50] }),
  model(azure, 'gpt-4o', [128, 64, 4], { version: 'gpt-4o-2024-11-20', images: 1 }),
  model(azure, 'gpt-4o-mini', [128, 12, 4], hidden),
  model(azure, 'gpt-3.5-turbo', [16, 12, 4], hidden),
  model(adaptive(opus), 'claude-opus-4.8', [200, 168, 64], { efforts: [...lmh, 'max'] }),
  model(adaptive(claude), 'claude-sonnet-5', [200, 168, 64], { efforts: lmh }),
  // That it lacks the chat endpoint is made up: callers of chat or responses then have a model that needs translation.
  model(adaptive(opus), 'claude-opus-4.7', [200, 168, 32], { endpoints: [messages], efforts: ['medium'] }),
  model(adaptive(budget(opus)), 'claude-opus-4.6', [200, 168, 32], { efforts: lmh }),
  model(adaptive(budget(claude)), 'claude-sonnet-4.6', [1000, 936, 64], {
    efforts: lmh,
    defaultPrompt: 200,
    info: 'Prompts above 200K tokens are billed at long context prices.',
  }),
  model(budget(opus), 'claude-opus-4.5', [200, 168, 32], { policy: 'disabled' }),
  model(budget(claude), 'claude-sonnet-4.5', [200, 168, 32]),
  model(budget(claude), 'claude-haiku-4.5', [200, 136, 64], { multiplier: 0.33, price: [100, 500, 10, 125] }),
  model(budget(gemini), 'gemini-2.5-pro', [128, 128, 64], {
    efforts: [],
    warning: 'This simulated model is retired at the end of the year. Use gemini-3-pro-preview.',
  }),
  model(budget(gemini), 'gemini-3-pro-preview', [200, 136, 64], { efforts: ['low', 'high'] }),
  // Nobody in the account's organization has enabled these two models yet.
  model(gemini, 'gemini-3.1-pro-preview', [200, 136, 64], { policy: 'pending' }),
  model(grok, 'grok-4.5', [256, 192, 64], { efforts: [], policy: 'requires_consent' }),
  model(grok, 'grok-code-fast-1', [128, 128, 64], { efforts: [], multiplier: 0, price: [20, 150, 2] }),
  model(kimi, 'kimi-k2.6', [256, 224, 32]),
  model(kimi, 'kimi-k3', [1048.5, 917.5, 131], { efforts: lmh, supports: search }),
  model({ vendor: azure.vendor }, 'gpt-41-copilot', [16, 12, 4], { type: 'completion' }),
  model(azure, 'text-embedding-3-small', [8, 8, 0], { ...hidden, type: 'embeddings' }),
  model({ vendor: gpt.vendor, ...hidden }, 'gpt-image-2.5-flare', [32, 32, 8], {
    endpoints: ['/v1/images/generations'],
  }),
  model(opus5, 'claude-fable-5', [1000, 936, 64]),
  model(opus5, 'claude-fable-5.1', [1000, 936, 64]),
  model(opus5, 'claude-mythos-5.1', [1000, 936, 64], { endpoints: [messages] }),
  model(opus5, 'claude-opus-5', [1000, 936, 64]),
  model(opus5, 'claude-opus-5.5', [1000, 936, 64]),
  model(sonnet5, 'claude-sonnet-5.5', [1000, 872, 128]),
  model(sonnet5, 'claude-haiku-5.5', [1000, 872, 128], { multiplier: 0.33 }),
  model(gpt6, 'gpt-5.6-sol', [1050, 922, 128]),
  model(gpt6, 'gpt-5.6-terra', [1050, 922, 128]),
  model(gpt6, 'gpt-6.1-sol', [1050, 922, 128]),
  model(gpt, 'gpt-5.4-mini', [400, 272, 128], { supports: search, multiplier: 0.33 }),
  model(gptOnChat, 'gpt-5.4-nano', [400, 272, 128], { ...hidden, multiplier: 0 }),
  model(gemini, 'gemini-3.7-flash', [1000, 936, 64]),
  model(gemini, 'gemini-3.8-flash', [1000, 936, 64]),
  model(gemini, 'gemini-4-argon', [1000, 850, 150]),
  model(grok, 'grok-4.6', [500, 372, 128], { efforts: toXhigh }),
  model(grok, 'grok-4.7', [500, 372, 128]),
  model(mai, 'mai-code-1.1-flash', [256, 128, 128]),
  model(mai, 'mai-code-2', [1050, 922, 128]),
]

/** As `GET /models` lists the model. */
function toEntry(row: Row): object {
  const [context, prompt, output] = row.limits.map((size) => size * 1000)
  const isGrok = row.vendor === grok.vendor
  return {
    id: row.id,
    name: row.id,
    vendor: row.vendor,
    version: row.version ?? row.id,
    preview: row.id.endsWith('-preview'),
    model_picker_enabled: row.isHidden !== true,
    is_chat_default: row.id === 'gpt-5-mini',
    ...(row.policy !== undefined && { policy: { state: row.policy } }),
    ...(row.multiplier !== undefined && {
      billing: {
        multiplier: row.multiplier,
        ...(autoPool.has(row.id) && { auto_discount: 0.1 }),
        ...(row.price !== undefined && { token_prices: toPrices(row.price, row) }),
      },
    }),
    ...(row.info !== undefined && { info_messages: [{ code: 'long_context', message: row.info }] }),
    ...(row.warning !== undefined && { warning_messages: [{ code: 'model_deprecated', message: row.warning }] }),
    capabilities: {
      type: row.type ?? 'chat',
      family: row.id,
      ...(row.type === 'embeddings'
        ? { limits: { max_inputs: 512 } }
        : {
            limits: {
              max_context_window_tokens: context,
              max_prompt_tokens: prompt,
              max_output_tokens: output,
              ...(row.images !== undefined && { vision: { max_prompt_images: row.images, ...imageLimits } }),
            },
            supports: {
              tool_calls: true,
              ...(!isGrok && { parallel_tool_calls: true, structured_outputs: row.id !== 'gpt-3.5-turbo' }),
              vision: row.images !== undefined,
              reasoning_effort: row.efforts ?? [],
              ...row.supports,
            },
          }),
    },
    ...(row.endpoints !== undefined && { supported_endpoints: row.endpoints }),
  }
}

const imageLimits = {
  max_prompt_image_size: 3_145_728,
  supported_media_types: ['image/jpeg', 'image/png', 'image/webp'],
}

/** Both makers price long contexts with these factors. */
function toPrices([input, output, cacheRead, cacheWrite]: Price, { defaultPrompt, limits }: Row): object {
  const tier = (inputs: number, outputs: number, contextMax: number | undefined) => ({
    input_price: input * inputs,
    output_price: output * outputs,
    cache_read_price: cacheRead * inputs,
    ...(cacheWrite !== undefined && { cache_write_price: cacheWrite * inputs }),
    ...(contextMax !== undefined && { context_max: contextMax * 1000 }),
  })
  return {
    batch_size: 1_000_000,
    default: tier(1, 1, defaultPrompt),
    ...(defaultPrompt !== undefined && { long_context: tier(2, 1.5, limits[1]) }),
  }
}

const reply = { object: 'list', data: rows.map(toEntry) }

export const copilotModels: DemoModels = { reply, list: parseAccountModels(reply)?.models ?? [] }
