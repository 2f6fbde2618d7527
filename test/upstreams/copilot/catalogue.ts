/** How a family writes its streams. */
export type ProfileId = 'gpt-4' | 'gpt-5' | 'claude' | 'gemini-2.5' | 'gemini-3' | 'grok' | 'kimi' | 'mai'

/** One row of the table below. */
export interface CatalogueRow {
  readonly id: string
  readonly vendor: string
  readonly profile: ProfileId
  /** Absent: chat. */
  readonly type?: 'embeddings' | 'completion'
  readonly name?: string
  /** Context window, longest prompt and longest output, in thousands of tokens. */
  readonly limits: readonly [context: number, prompt: number, output: number]
  readonly endpoints?: readonly string[]
  readonly efforts?: readonly string[]
  /** Maximum number of images in a request. */
  readonly images?: number
  readonly multiplier?: number
  readonly price?: CataloguePrice
  /** The number of tokens that a price applies to. Default: a million. */
  readonly priceBatch?: number
  /** A long context tier, which `limits` describes. The default tier ends at `defaultPrompt` thousands of tokens. */
  readonly long?: { readonly defaultPrompt: number; readonly price: CataloguePrice }
  readonly info?: CatalogueNotice
  readonly warning?: CatalogueNotice
  readonly thinkingBudget?: number
  readonly adaptive?: boolean
  /** Claude's version, e.g. 4.8. It decides what the model refuses. */
  readonly version?: number
  /** The dated version that the entry states. Default: the id. */
  readonly snapshot?: string
  /** Supports tool search, and then accepts any number of searchable tools. */
  readonly toolSearch?: boolean
  /** GPT of 2025: accepts function tools only, and sends the reasoning summary in its done event only. */
  readonly older?: boolean
  /** Claude without tool search and context editing. */
  readonly noBetas?: boolean
  /** Absent: the entry has no policy, and the model is open. Any value but `enabled` closes the model. */
  readonly policy?: string
  readonly picker?: boolean
}

/** AI credits per million tokens. */
export interface CataloguePrice {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite?: number
}

interface CatalogueNotice {
  readonly code: string
  readonly message: string
}

/** Facts that the models of a family share. */
type Family = Pick<CatalogueRow, 'vendor' | 'profile'> & Partial<CatalogueRow>

const CHAT = '/chat/completions'
const RESPONSES = ['/responses', 'ws:/responses']
const MESSAGES = '/v1/messages'
const LMH = ['low', 'medium', 'high']

// Figures and endpoints follow the catalogue captured in March 2026 (docs/copilot-wire.md, "Models"). Vendor names keep
// the real words, because clients recognise families by them, and state that the answers are simulated.
const AZURE = 'Simulated Azure OpenAI (demo)'
const GPT_4: Family = { vendor: AZURE, profile: 'gpt-4', multiplier: 0 }
const GPT: Family = {
  vendor: 'Simulated OpenAI (demo)',
  profile: 'gpt-5',
  endpoints: RESPONSES,
  efforts: LMH,
  images: 1,
  multiplier: 1,
  policy: 'enabled',
}
const GPT_ON_CHAT: Family = { ...GPT, endpoints: [CHAT, ...RESPONSES] }
const CLAUDE: Family = {
  vendor: 'Simulated Anthropic (demo)',
  profile: 'claude',
  endpoints: [MESSAGES, CHAT],
  multiplier: 1,
  policy: 'enabled',
}
const GEMINI: Family = {
  vendor: 'Simulated Google (demo)',
  profile: 'gemini-3',
  images: 10,
  multiplier: 1,
  policy: 'enabled',
}
const GROK: Family = { vendor: 'Simulated xAI (demo)', profile: 'grok', multiplier: 1, policy: 'enabled' }
const MAI: Family = { vendor: 'Simulated Microsoft (demo)', profile: 'mai', multiplier: 0.33, policy: 'enabled' }
const KIMI: Family = { vendor: 'Simulated Moonshot AI (demo)', profile: 'kimi', multiplier: 0.33, policy: 'enabled' }

// The makers' list prices of 2026 (docs/copilot-wire.md, "Context tiers and prices").
const GPT_5_PRICE: CataloguePrice = { input: 125, output: 1000, cacheRead: 12.5 }
const GPT_5_2_PRICE: CataloguePrice = { input: 175, output: 1400, cacheRead: 17.5 }
const SONNET_PRICE: CataloguePrice = { input: 300, output: 1500, cacheRead: 30, cacheWrite: 375 }
const OPUS_PRICE: CataloguePrice = { input: 500, output: 2500, cacheRead: 50, cacheWrite: 625 }
const GEMINI_3_PRICE: CataloguePrice = { input: 200, output: 1200, cacheRead: 20 }

const OPUS: Family = {
  ...CLAUDE,
  images: 1,
  multiplier: 3,
  price: OPUS_PRICE,
}
const SONNET: Family = { ...CLAUDE, images: 5, price: SONNET_PRICE }

/** Both makers price long contexts with these factors. */
function longPrice({ input, output, cacheRead, cacheWrite }: CataloguePrice): CataloguePrice {
  return {
    input: 2 * input,
    output: 1.5 * output,
    cacheRead: 2 * cacheRead,
    ...(cacheWrite !== undefined && { cacheWrite: 2 * cacheWrite }),
  }
}

/** Claude 5: a default tier of 200,000 tokens beside one of a million, adaptive thinking and no budget. */
const CLAUDE_5: Family = { ...CLAUDE, images: 5, adaptive: true, efforts: [...LMH, 'xhigh', 'max'] }
const OPUS_5: Family = { ...CLAUDE_5, multiplier: 3, price: OPUS_PRICE }
const SONNET_5: Family = { ...CLAUDE_5, price: SONNET_PRICE }
/** GPT from 5.5 on: custom tools, namespaces and tool search. */
const GPT_6: Family = { ...GPT, toolSearch: true, efforts: ['none', ...LMH, 'xhigh'], price: GPT_5_2_PRICE }
const GPT_6_LONG = { limits: [1050, 922, 128], long: { defaultPrompt: 272, price: longPrice(GPT_5_2_PRICE) } } as const

/**
 * Models of late 2026, with the limits of the catalogue inside GitHub's CLI (docs/copilot-wire.md, "Models"). Efforts, prices
 * and multipliers are made up. The live list is the only source of them. GPT-5.5, GPT-5.6 Luna and most of GPT-6 are left to the
 * demo's Codex account, so that a model's name says whose it is.
 */
const LATE_2026: readonly CatalogueRow[] = [
  { ...OPUS_5, id: 'claude-fable-5', version: 5, limits: [1000, 936, 64] },
  { ...OPUS_5, id: 'claude-fable-5.1', version: 5.1, limits: [1000, 936, 64] },
  { ...OPUS_5, id: 'claude-mythos-5.1', version: 5.1, limits: [1000, 936, 64], endpoints: [MESSAGES] },
  { ...OPUS_5, id: 'claude-opus-5', version: 5, limits: [1000, 936, 64] },
  { ...OPUS_5, id: 'claude-opus-5.5', version: 5.5, limits: [1000, 936, 64] },
  { ...SONNET_5, id: 'claude-sonnet-5.5', version: 5.5, limits: [1000, 872, 128] },
  { ...SONNET_5, id: 'claude-haiku-5.5', version: 5.5, limits: [1000, 872, 128], multiplier: 0.33 },
  { ...GPT_6, ...GPT_6_LONG, id: 'gpt-5.6-sol' },
  { ...GPT_6, ...GPT_6_LONG, id: 'gpt-5.6-terra' },
  { ...GPT_6, ...GPT_6_LONG, id: 'gpt-6.1-sol' },
  { ...GPT, id: 'gpt-5.4-mini', toolSearch: true, limits: [400, 272, 128], multiplier: 0.33 },
  // GitHub's CLI uses it on chat, for background calls.
  { ...GPT_ON_CHAT, id: 'gpt-5.4-nano', limits: [400, 272, 128], multiplier: 0, picker: false },
  { ...GEMINI, id: 'gemini-3.7-flash', limits: [1000, 936, 64], efforts: LMH, price: GEMINI_3_PRICE },
  { ...GEMINI, id: 'gemini-3.8-flash', limits: [1000, 936, 64], efforts: LMH, price: GEMINI_3_PRICE },
  { ...GEMINI, id: 'gemini-4-argon', limits: [1000, 850, 150], efforts: LMH, price: GEMINI_3_PRICE },
  { ...GROK, id: 'grok-4.6', limits: [500, 372, 128], efforts: [...LMH, 'xhigh'] },
  { ...GROK, id: 'grok-4.7', limits: [500, 372, 128], efforts: LMH },
  { ...MAI, id: 'mai-code-1.1-flash', limits: [256, 128, 128], efforts: LMH },
  { ...MAI, id: 'mai-code-2', limits: [1050, 922, 128], efforts: LMH },
]

export const CATALOGUE: readonly CatalogueRow[] = [
  {
    id: 'gpt-5-mini',
    vendor: AZURE,
    profile: 'gpt-5',
    older: true,
    limits: [264, 128, 64],
    endpoints: [CHAT, ...RESPONSES],
    efforts: LMH,
    images: 1,
    multiplier: 0,
    price: { input: 25, output: 200, cacheRead: 2.5 },
  },
  { ...GPT_ON_CHAT, id: 'gpt-5', vendor: AZURE, older: true, limits: [400, 128, 128], price: GPT_5_PRICE },
  { ...GPT_ON_CHAT, id: 'gpt-5.1', limits: [264, 128, 64], efforts: ['none', ...LMH], price: GPT_5_PRICE },
  {
    ...GPT_ON_CHAT,
    id: 'gpt-5.2',
    limits: [1050, 922, 128],
    efforts: ['none', ...LMH, 'xhigh'],
    price: GPT_5_2_PRICE,
    long: { defaultPrompt: 272, price: longPrice(GPT_5_2_PRICE) },
  },
  {
    ...GPT,
    id: 'gpt-5.4',
    toolSearch: true,
    limits: [400, 272, 128],
    price: { input: 250, output: 1500, cacheRead: 25 },
  },
  { ...GPT, id: 'gpt-5.6', limits: [400, 272, 128], efforts: ['none', ...LMH, 'xhigh'] },
  { ...GPT, id: 'gpt-5.3-codex', limits: [400, 272, 128], efforts: [...LMH, 'xhigh'], price: GPT_5_2_PRICE },
  {
    ...GPT_4,
    id: 'gpt-4.1',
    snapshot: 'gpt-4.1-2025-04-14',
    limits: [128, 128, 16],
    images: 1,
    price: { input: 200, output: 800, cacheRead: 50 },
    policy: 'enabled',
  },
  { ...GPT_4, id: 'gpt-4o', snapshot: 'gpt-4o-2024-11-20', limits: [128, 64, 4], images: 1 },
  { ...GPT_4, id: 'gpt-4o-mini', limits: [128, 12, 4], picker: false },
  // The real list repeats ids, so clients must not rely on unique ids.
  { ...GPT_4, id: 'gpt-3.5-turbo', limits: [16, 12, 4], picker: false },
  { ...GPT_4, id: 'gpt-3.5-turbo', name: 'GPT 3.5 Turbo (again)', limits: [16, 12, 4], picker: false },
  { ...OPUS, id: 'claude-opus-4.8', version: 4.8, limits: [200, 168, 64], efforts: [...LMH, 'max'], adaptive: true },
  { ...SONNET, id: 'claude-sonnet-5', version: 5, limits: [200, 168, 64], efforts: LMH, adaptive: true },
  // The model had one effort level at its release (docs/copilot-wire.md, "Messages requests"). That it lacks the chat
  // endpoint is made up: callers of chat or responses then have a model that needs translation.
  {
    ...OPUS,
    id: 'claude-opus-4.7',
    version: 4.7,
    limits: [200, 168, 32],
    endpoints: [MESSAGES],
    efforts: ['medium'],
    adaptive: true,
  },
  {
    ...OPUS,
    id: 'claude-opus-4.6',
    version: 4.6,
    limits: [200, 168, 32],
    efforts: LMH,
    thinkingBudget: 32_000,
    adaptive: true,
  },
  {
    ...SONNET,
    id: 'claude-sonnet-4.6',
    version: 4.6,
    limits: [1000, 936, 64],
    efforts: LMH,
    long: { defaultPrompt: 200, price: longPrice(SONNET_PRICE) },
    info: { code: 'long_context', message: 'Prompts above 200K tokens are billed at long context prices.' },
    thinkingBudget: 32_000,
    adaptive: true,
  },
  {
    ...OPUS,
    id: 'claude-opus-4.5',
    version: 4.5,
    limits: [200, 168, 32],
    thinkingBudget: 32_000,
    policy: 'disabled',
  },
  { ...SONNET, id: 'claude-sonnet-4.5', version: 4.5, limits: [200, 168, 32], thinkingBudget: 32_000 },
  {
    ...CLAUDE,
    id: 'claude-haiku-4.5',
    version: 4.5,
    noBetas: true,
    limits: [200, 136, 64],
    images: 5,
    multiplier: 0.33,
    price: { input: 100, output: 500, cacheRead: 10, cacheWrite: 125 },
    priceBatch: 1000,
    thinkingBudget: 32_000,
  },
  {
    ...GEMINI,
    id: 'gemini-2.5-pro',
    profile: 'gemini-2.5',
    limits: [128, 128, 64],
    price: GPT_5_PRICE,
    warning: {
      code: 'model_deprecated',
      message: 'This simulated model is retired at the end of the year. Use gemini-3-pro-preview.',
    },
    thinkingBudget: 32_768,
  },
  {
    ...GEMINI,
    id: 'gemini-3-pro-preview',
    limits: [200, 136, 64],
    efforts: ['low', 'high'],
    price: GEMINI_3_PRICE,
    thinkingBudget: 32_000,
  },
  // Nobody in the account's organization has enabled these two models yet.
  {
    ...GEMINI,
    id: 'gemini-3.1-pro-preview',
    limits: [200, 136, 64],
    efforts: LMH,
    price: GEMINI_3_PRICE,
    policy: 'pending',
  },
  {
    ...GROK,
    id: 'grok-4.5',
    limits: [256, 192, 64],
    price: { input: 300, output: 1500, cacheRead: 75 },
    policy: 'requires_consent',
  },
  {
    ...GROK,
    id: 'grok-code-fast-1',
    limits: [128, 128, 64],
    multiplier: 0,
    price: { input: 20, output: 150, cacheRead: 2 },
  },
  { ...KIMI, id: 'kimi-k2.6', limits: [256, 224, 32] },
  { ...KIMI, id: 'kimi-k3', toolSearch: true, limits: [1048.5, 917.5, 131], efforts: LMH },
  { id: 'gpt-41-copilot', vendor: AZURE, profile: 'gpt-4', type: 'completion', limits: [16, 12, 4] },
  {
    id: 'gpt-image-2.5-flare',
    vendor: 'Simulated OpenAI (demo)',
    profile: 'gpt-5',
    limits: [32, 32, 8],
    endpoints: ['/v1/images/generations'],
    picker: false,
    policy: 'enabled',
  },
  { ...GPT_4, id: 'text-embedding-3-small', type: 'embeddings', limits: [8, 8, 0], picker: false },
  ...LATE_2026,
]
