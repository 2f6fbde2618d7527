import type { ModelTraits, Provider } from '../model-traits.ts'
import type { Opaque, Vendor } from '../turn.ts'
import { parseObject, textOf } from '../../json/json.ts'
import { modelFamily, type ModelFamily } from './model-family.ts'

/**
 * Callers of another dialect get opaque values in an envelope that names their maker, so that a session that moves to
 * another model does not send one vendor's ciphertext to another. Values from Codex are enveloped for its own dialect too,
 * because the session may move to Copilot. An envelope is `cpx1.` (OpenAI) or `cpa1.` (Anthropic) and base64url of compact
 * JSON; callers store and return it like any signature. An envelope without a provider is from Copilot.
 */
const prefixes = { openai: 'cpx1.', anthropic: 'cpa1.' } as const

/** Above the length of any envelope of ours; bounds the work that a caller can cause. Characters. */
const maxEnvelopeLength = 8 * 1024 * 1024

export function sealOpaque({ vendor, provider, family, form, id, value }: Opaque): string {
  const u = provider === 'codex' ? provider : undefined
  switch (form) {
    case 'encrypted_content':
      return seal(prefixes.openai, { p: vendor, u, m: family, id, ec: value })
    case 'reasoning_opaque':
      return seal(prefixes.openai, { p: vendor, u, m: family, ro: value })
    case 'signature':
      return seal(prefixes.anthropic, { p: vendor, u, t: 'thinking', sig: value })
    case 'redacted':
      return seal(prefixes.anthropic, { p: vendor, u, t: 'redacted', sig: value })
  }
}

export function isSealed(text: string): boolean {
  return text.startsWith(prefixes.openai) || text.startsWith(prefixes.anthropic)
}

/** Undefined if the text is no envelope of ours, or a damaged one. */
export function openOpaque(text: string): Opaque | undefined {
  if (!isSealed(text) || text.length > maxEnvelopeLength) return undefined
  const content = parseObject(Buffer.from(text.slice(prefixes.openai.length), 'base64url').toString('utf8'))
  const vendor = vendorNamed(content?.['p'])
  const provider = providerNamed(content?.['u'])
  if (content === undefined || vendor === undefined || provider === undefined) return undefined
  const { m: family, id, ec, ro, sig, t } = content
  const common = { vendor, provider, family: textOf(family) }
  if (text.startsWith(prefixes.anthropic)) {
    if (typeof sig !== 'string' || (t !== 'thinking' && t !== 'redacted')) return undefined
    return { ...common, form: t === 'thinking' ? 'signature' : 'redacted', value: sig }
  }
  if (typeof ec === 'string') {
    return { ...common, form: 'encrypted_content', id: typeof id === 'string' ? id : undefined, value: ec }
  }
  return typeof ro === 'string' ? { ...common, form: 'reasoning_opaque', value: ro } : undefined
}

/** The maker of the opaque values in a model's replies. */
export function makerOf(model: ModelTraits): Pick<Opaque, 'vendor' | 'provider' | 'family'> {
  const family = modelFamily(model)
  const { provider } = model
  return {
    // Codex serves OpenAI's models only, and not all are named GPT.
    vendor: provider === 'codex' ? 'openai' : vendorOf(family),
    ...(provider !== undefined && { provider }),
    family: familyName(family),
  }
}

/** Whether the model's upstream can read the value. A value without a provider counts as readable. */
export function isMadeFor({ vendor, provider }: Opaque, model: ModelTraits): boolean {
  if (vendor === 'unknown' || vendor !== makerOf(model).vendor) return false
  return provider === undefined || provider === (model.provider ?? 'copilot')
}

const vendors: Readonly<Record<ModelFamily['kind'], Vendor>> = {
  gpt: 'openai',
  'o-series': 'openai',
  claude: 'anthropic',
  gemini: 'google',
  grok: 'xai',
  kimi: 'unknown',
  other: 'unknown',
}

export function vendorOf({ kind }: ModelFamily): Vendor {
  return vendors[kind]
}

/** `gpt-6`, `o3`, `claude`, `gemini`, `grok`, `kimi`; '' for others. */
function familyName(family: ModelFamily): string {
  if (family.kind === 'gpt') return family.major === undefined ? 'gpt' : `gpt-${family.major}`
  if (family.kind === 'o-series') return `o${family.generation}`
  return family.kind === 'other' ? '' : family.kind
}

function seal(prefix: string, content: object): string {
  return prefix + Buffer.from(JSON.stringify(content), 'utf8').toString('base64url')
}

function vendorNamed(name: unknown): Vendor | undefined {
  return Object.values(vendors).find((vendor) => vendor === name)
}

function providerNamed(name: unknown): Provider | undefined {
  if (name === undefined) return 'copilot'
  return name === 'copilot' || name === 'codex' ? name : undefined
}
