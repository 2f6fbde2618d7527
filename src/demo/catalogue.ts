/** How a family writes its streams (`profiles/`). */
export type ProfileId = 'gpt-4' | 'gpt-5' | 'claude' | 'gemini-2.5' | 'gemini-3' | 'grok' | 'kimi'

/** One row of the table below; token figures in thousands. */
export interface CatalogueRow {
  readonly id: string
  readonly vendor: string
  readonly profile: ProfileId
  readonly type?: 'chat' | 'embeddings' | 'completion'
  readonly name?: string
  readonly context: number
  readonly prompt: number
  readonly output: number
  readonly endpoints?: readonly string[]
  readonly efforts?: readonly string[]
  readonly images?: number
  readonly multiplier?: number
  readonly price?: CataloguePrice
  /** Tokens that prices are stated for, where not a million. */
  readonly priceBatch?: number
  /** A long context tier: `context` and `prompt` are its limits, and the default tier ends before. */
  readonly long?: { readonly defaultPrompt: number; readonly price: CataloguePrice }
  readonly notices?: readonly CatalogueNotice[]
  readonly thinkingBudget?: number
  readonly adaptive?: boolean
  /** Claude's version, e.g. 4.8: what it refuses depends on it. */
  readonly version?: number
  /** Finds tools by search, for which it takes any number of them. */
  readonly toolSearch?: boolean
  /** GPT of 2025: takes function tools only, and states its reasoning summary in the done event alone. */
  readonly older?: boolean
  /** Claude without tool search and context editing. */
  readonly noBetas?: boolean
  /** GPT-5.6 and later: takes cache breakpoints. */
  readonly breakpoints?: boolean
  /** Refuses `output_config` as a whole. */
  readonly noOutputConfig?: boolean
  /** Serves prepared events without looking at the prompt, for measuring (`[demo:frames N]`). */
  readonly bench?: boolean
  /** undefined = the entry has no policy: no gate. Any word but `enabled` closes the model. */
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
  readonly level: 'info' | 'warning'
  readonly code: string
  readonly message: string
}

const CHAT = '/chat/completions'
const RESPONSES = ['/responses', 'ws:/responses']
const MESSAGES = ['/v1/messages', CHAT]

// Figures and endpoints after the catalogue captured in March 2026 (docs/copilot-wire.md, "Models"). Vendors keep their
// real words, since a client tells families apart by them, and say that nothing real answers.
const OPENAI = 'Simulated OpenAI (demo)'
const AZURE = 'Simulated Azure OpenAI (demo)'
const ANTHROPIC = 'Simulated Anthropic (demo)'
const GOOGLE = 'Simulated Google (demo)'
const XAI = 'Simulated xAI (demo)'
const MOONSHOT = 'Simulated Moonshot AI (demo)'

const LMH = ['low', 'medium', 'high']

// Prices are the makers' own of 2026 (docs/copilot-wire.md, "Context tiers and prices").
const GPT_5: CataloguePrice = { input: 125, output: 1000, cacheRead: 12.5 }
const GPT_5_2: CataloguePrice = { input: 175, output: 1400, cacheRead: 17.5 }
const OPUS: CataloguePrice = { input: 500, output: 2500, cacheRead: 50, cacheWrite: 625 }
const SONNET: CataloguePrice = { input: 300, output: 1500, cacheRead: 30, cacheWrite: 375 }

/** As both makers price their long contexts. */
function longPrice({ input, output, cacheRead, cacheWrite }: CataloguePrice): CataloguePrice {
  return {
    input: 2 * input,
    output: 1.5 * output,
    cacheRead: 2 * cacheRead,
    ...(cacheWrite !== undefined && { cacheWrite: 2 * cacheWrite }),
  }
}

export const CATALOGUE: readonly CatalogueRow[] = [
  {
    id: 'gpt-5-mini',
    vendor: AZURE,
    profile: 'gpt-5',
    older: true,
    context: 264,
    prompt: 128,
    output: 64,
    endpoints: [CHAT, ...RESPONSES],
    efforts: LMH,
    images: 1,
    multiplier: 0,
    price: { input: 25, output: 200, cacheRead: 2.5 },
  },
  {
    id: 'gpt-5',
    vendor: AZURE,
    profile: 'gpt-5',
    older: true,
    context: 400,
    prompt: 128,
    output: 128,
    endpoints: [CHAT, ...RESPONSES],
    efforts: LMH,
    images: 1,
    multiplier: 1,
    price: GPT_5,
    policy: 'enabled',
  },
  {
    id: 'gpt-5.1',
    vendor: OPENAI,
    profile: 'gpt-5',
    context: 264,
    prompt: 128,
    output: 64,
    endpoints: [CHAT, ...RESPONSES],
    efforts: ['none', ...LMH],
    images: 1,
    multiplier: 1,
    price: GPT_5,
    policy: 'enabled',
  },
  {
    id: 'gpt-5.2',
    vendor: OPENAI,
    profile: 'gpt-5',
    context: 1050,
    prompt: 922,
    output: 128,
    endpoints: [CHAT, ...RESPONSES],
    efforts: ['none', ...LMH, 'xhigh'],
    images: 1,
    multiplier: 1,
    price: GPT_5_2,
    long: { defaultPrompt: 272, price: longPrice(GPT_5_2) },
    policy: 'enabled',
  },
  {
    id: 'gpt-5.4',
    vendor: OPENAI,
    profile: 'gpt-5',
    toolSearch: true,
    context: 400,
    prompt: 272,
    output: 128,
    endpoints: RESPONSES,
    efforts: LMH,
    images: 1,
    multiplier: 1,
    price: { input: 250, output: 1500, cacheRead: 25 },
    policy: 'enabled',
  },
  {
    id: 'gpt-5.6',
    vendor: OPENAI,
    profile: 'gpt-5',
    breakpoints: true,
    context: 400,
    prompt: 272,
    output: 128,
    endpoints: RESPONSES,
    efforts: ['none', ...LMH, 'xhigh'],
    images: 1,
    multiplier: 1,
    policy: 'enabled',
  },
  {
    id: 'gpt-5.3-codex',
    vendor: OPENAI,
    profile: 'gpt-5',
    context: 400,
    prompt: 272,
    output: 128,
    endpoints: RESPONSES,
    efforts: [...LMH, 'xhigh'],
    images: 1,
    multiplier: 1,
    price: GPT_5_2,
    policy: 'enabled',
  },
  {
    id: 'gpt-4.1',
    vendor: AZURE,
    profile: 'gpt-4',
    context: 128,
    prompt: 128,
    output: 16,
    images: 1,
    multiplier: 0,
    price: { input: 200, output: 800, cacheRead: 50 },
    policy: 'enabled',
  },
  { id: 'gpt-4o', vendor: AZURE, profile: 'gpt-4', context: 128, prompt: 64, output: 4, images: 1, multiplier: 0 },
  {
    id: 'gpt-4o-mini',
    vendor: AZURE,
    profile: 'gpt-4',
    context: 128,
    prompt: 12,
    output: 4,
    multiplier: 0,
    picker: false,
  },
  {
    id: 'gpt-3.5-turbo',
    vendor: AZURE,
    profile: 'gpt-4',
    context: 16,
    prompt: 12,
    output: 4,
    multiplier: 0,
    picker: false,
  },
  // The real list repeats ids: a client must not count on them being unique.
  {
    id: 'gpt-3.5-turbo',
    vendor: AZURE,
    profile: 'gpt-4',
    name: 'GPT 3.5 Turbo (again)',
    context: 16,
    prompt: 12,
    output: 4,
    multiplier: 0,
    picker: false,
  },
  {
    id: 'claude-opus-4.8',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.8,
    context: 200,
    prompt: 168,
    output: 64,
    endpoints: MESSAGES,
    efforts: [...LMH, 'max'],
    images: 1,
    multiplier: 3,
    price: OPUS,
    adaptive: true,
    policy: 'enabled',
  },
  {
    id: 'claude-sonnet-5',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 5,
    context: 200,
    prompt: 168,
    output: 64,
    endpoints: MESSAGES,
    efforts: LMH,
    images: 5,
    multiplier: 1,
    price: SONNET,
    adaptive: true,
    policy: 'enabled',
  },
  // Its one effort is from the time it came out (docs/copilot-wire.md, "Messages requests"). That chat is missing is
  // made up, so that a caller of chat or responses has a model to be translated for.
  {
    id: 'claude-opus-4.7',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.7,
    context: 200,
    prompt: 168,
    output: 32,
    endpoints: ['/v1/messages'],
    efforts: ['medium'],
    images: 1,
    multiplier: 3,
    price: OPUS,
    adaptive: true,
    policy: 'enabled',
  },
  {
    id: 'claude-opus-4.6',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.6,
    context: 200,
    prompt: 168,
    output: 32,
    endpoints: MESSAGES,
    efforts: LMH,
    images: 1,
    multiplier: 3,
    price: OPUS,
    thinkingBudget: 32_000,
    adaptive: true,
    policy: 'enabled',
  },
  {
    id: 'claude-sonnet-4.6',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.6,
    context: 1000,
    prompt: 936,
    output: 64,
    endpoints: MESSAGES,
    efforts: LMH,
    images: 5,
    multiplier: 1,
    price: SONNET,
    long: { defaultPrompt: 200, price: longPrice(SONNET) },
    notices: [
      { level: 'info', code: 'long_context', message: 'Prompts above 200K tokens are billed at long context prices.' },
    ],
    thinkingBudget: 32_000,
    adaptive: true,
    policy: 'enabled',
  },
  {
    id: 'claude-opus-4.5',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.5,
    context: 200,
    prompt: 168,
    output: 32,
    endpoints: MESSAGES,
    images: 1,
    multiplier: 3,
    price: OPUS,
    thinkingBudget: 32_000,
    policy: 'disabled',
  },
  {
    id: 'claude-sonnet-4.5',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.5,
    context: 200,
    prompt: 168,
    output: 32,
    endpoints: MESSAGES,
    images: 5,
    multiplier: 1,
    price: SONNET,
    thinkingBudget: 32_000,
    policy: 'enabled',
  },
  {
    id: 'claude-haiku-4.5',
    vendor: ANTHROPIC,
    profile: 'claude',
    version: 4.5,
    noOutputConfig: true,
    noBetas: true,
    context: 200,
    prompt: 136,
    output: 64,
    endpoints: MESSAGES,
    images: 5,
    multiplier: 0.33,
    price: { input: 100, output: 500, cacheRead: 10, cacheWrite: 125 },
    priceBatch: 1000,
    thinkingBudget: 32_000,
    policy: 'enabled',
  },
  {
    id: 'gemini-2.5-pro',
    vendor: GOOGLE,
    profile: 'gemini-2.5',
    context: 128,
    prompt: 128,
    output: 64,
    images: 10,
    multiplier: 1,
    price: { input: 125, output: 1000, cacheRead: 12.5 },
    notices: [
      {
        level: 'warning',
        code: 'model_deprecated',
        message: 'This simulated model is retired at the end of the year. Use gemini-3-pro-preview.',
      },
    ],
    thinkingBudget: 32_768,
    policy: 'enabled',
  },
  {
    id: 'gemini-3-pro-preview',
    vendor: GOOGLE,
    profile: 'gemini-3',
    context: 200,
    prompt: 136,
    output: 64,
    efforts: ['low', 'high'],
    images: 10,
    multiplier: 1,
    price: { input: 200, output: 1200, cacheRead: 20 },
    thinkingBudget: 32_000,
    policy: 'enabled',
  },
  // Nobody of the account's organization has agreed to them yet.
  {
    id: 'gemini-3.1-pro-preview',
    vendor: GOOGLE,
    profile: 'gemini-3',
    context: 200,
    prompt: 136,
    output: 64,
    efforts: LMH,
    images: 10,
    multiplier: 1,
    price: { input: 200, output: 1200, cacheRead: 20 },
    policy: 'pending',
  },
  {
    id: 'grok-4.5',
    vendor: XAI,
    profile: 'grok',
    context: 256,
    prompt: 192,
    output: 64,
    multiplier: 1,
    price: { input: 300, output: 1500, cacheRead: 75 },
    policy: 'requires_consent',
  },
  {
    id: 'grok-code-fast-1',
    vendor: XAI,
    profile: 'grok',
    context: 128,
    prompt: 128,
    output: 64,
    multiplier: 0,
    price: { input: 20, output: 150, cacheRead: 2 },
    policy: 'enabled',
  },
  {
    id: 'kimi-k2.6',
    vendor: MOONSHOT,
    profile: 'kimi',
    context: 256,
    prompt: 224,
    output: 32,
    multiplier: 0.33,
    policy: 'enabled',
  },
  {
    id: 'kimi-k3',
    vendor: MOONSHOT,
    profile: 'kimi',
    toolSearch: true,
    context: 256,
    prompt: 224,
    output: 32,
    multiplier: 0.33,
    policy: 'enabled',
  },
  { id: 'gpt-41-copilot', vendor: AZURE, profile: 'gpt-4', type: 'completion', context: 16, prompt: 12, output: 4 },
  {
    id: 'text-embedding-3-small',
    vendor: AZURE,
    profile: 'gpt-4',
    type: 'embeddings',
    context: 8,
    prompt: 8,
    output: 0,
    multiplier: 0,
    picker: false,
  },
  bench({ id: 'demo-bench', vendor: OPENAI, profile: 'gpt-5' }),
  bench({ id: 'demo-bench-responses', vendor: OPENAI, profile: 'gpt-5', endpoints: ['/responses'] }),
  bench({ id: 'demo-bench-messages', vendor: ANTHROPIC, profile: 'claude', endpoints: ['/v1/messages'] }),
]

function bench(row: Pick<CatalogueRow, 'id' | 'vendor' | 'profile' | 'endpoints'>): CatalogueRow {
  return {
    ...row,
    name: 'Prepared events for measuring',
    context: 100_000,
    prompt: 100_000,
    output: 1000,
    multiplier: 0,
    picker: false,
    bench: true,
  }
}
