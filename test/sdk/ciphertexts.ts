import { refuseCiphertext } from '../upstreams/codex/ciphertext.ts'
import { openOpaque } from '../upstreams/answer/sealed-text.ts'
import { isObject } from '../../src/json/json.ts'
import type { Proxy } from '../http/harness.ts'

/** The simulated upstream that made an opaque value. */
type Maker = 'copilot' | 'codex'

interface Ciphertext {
  readonly maker: Maker
  readonly text: string
}

/** Every ciphertext and signature anywhere in a request, bare or in an envelope of the proxy. */
export function ciphertextsIn(body: string, proxy: Proxy): readonly Ciphertext[] {
  return [...textsIn(JSON.parse(body))].flatMap((text) => {
    const maker = makerOf(text, proxy)
    return maker === undefined ? [] : [{ maker, text }]
  })
}

const kindsOfCopilot = ['reasoning', 'compaction', 'signature', 'redacted'] as const

function makerOf(text: string, { codex }: Proxy): Maker | undefined {
  if (kindsOfCopilot.some((kind) => openOpaque(kind, text) !== undefined)) return 'copilot'
  const accounts = [codexAccount, codex.apiKey]
  const isOfCodex = accounts.some(
    (account) => refuseCiphertext('reasoning', text, { account, id: undefined }) === undefined,
  )
  return isOfCodex ? 'codex' : undefined
}

/** The account of the simulated ChatGPT login, the same in every run. */
const codexAccount = '00000000-0000-4000-8000-0000000000de'

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    yield value
    // An envelope is a prefix and base64url of JSON.
    if (/^cp[xa]1\./.test(value)) yield* textsIn(JSON.parse(Buffer.from(value.slice(5), 'base64url').toString()))
  } else if (Array.isArray(value) || isObject(value)) for (const each of Object.values(value)) yield* textsIn(each)
}
