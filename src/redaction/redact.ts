import { rememberResults } from '../cache/remember-results.ts'
import { Fault } from '../errors.ts'
import { keyHeaders, mayHoldKey } from './key-headers.ts'

const replacement = '[redacted]'

/** A part of a text. */
export interface Span {
  readonly start: number
  readonly end: number
}

export type FindSecrets = (text: string) => readonly Span[]

/** A part of a text, and the text in its place; default `[redacted]`. */
export interface Edit extends Span {
  readonly text?: string
}

/** Replaces parts of a text. Parts that overlap are replaced together. */
export function replaceSpans(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text
  const replaced: string[] = []
  let end = 0
  for (const edit of edits.toSorted((a, b) => a.start - b.start || textOf(b).length - textOf(a).length)) {
    if (edit.start >= end) replaced.push(text.slice(end, edit.start), textOf(edit))
    end = Math.max(end, edit.end)
  }
  return replaced.join('') + text.slice(end)
}

function textOf({ text = replacement }: Edit): string {
  return text
}

/** A value up to where it ends in running text, JSON (also escaped JSON) or a URL. */
const value = String.raw`[^\s"'\\<>,;&)}\]]+`

/** The start of a word, also right after an escaped line break (`\n`), whose letter `\b` would join to the word. */
const start = String.raw`(?:\b|(?<=\\[nrt])|(?<=\\u[\da-f]{4}))`

/** Shapes of credentials. Every quantifier that could rescan is bounded, so that a long hostile text costs linear time. */
const patterns: readonly { readonly find: RegExp; readonly replaceWith: string }[] = [
  // GitHub: OAuth, app, personal and fine-grained tokens.
  { find: /(?:gh[opsru]_|github_pat_)\w+/g, replaceWith: replacement },
  // A Copilot token is `k=v;k=v…:<mac>`, usually `tid=` first; also percent-encoded.
  { find: new RegExp(String.raw`${start}tid(?:=|%3D)[^\s"'\\<>]+`, 'gi'), replaceWith: replacement },
  {
    find: new RegExp(String.raw`${start}(?:exp|sku|st|proxy-ep)=[^\s"'\\<>;]{0,200};[^\s"'\\<>]+`, 'g'),
    replaceWith: replacement,
  },
  // `Authorization` schemes wherever they appear.
  {
    find: new RegExp(String.raw`${start}(Bearer|Basic)(\s+|%20)[\w.~+/=:;-]+`, 'gi'),
    replaceWith: `$1$2${replacement}`,
  },
  // API keys and JSON web tokens.
  { find: new RegExp(String.raw`${start}[sp]k-[\w-]{6,}`, 'g'), replaceWith: replacement },
  { find: new RegExp(String.raw`${start}eyJ[\w-]{6,}(?:\.[\w-]+){0,2}`, 'g'), replaceWith: replacement },
  // `name: value`, `name=value`, `"name":"value"` for names that only ever hold a secret.
  {
    find: new RegExp(
      String.raw`${start}(${keyHeaders.join('|')}|(?:set-)?cookie|api[-_]?key|client[-_]secret|password|` +
        String.raw`(?:github_)?(?:access|refresh|id)[-_]?token|device_code|device_auth_id|authorization_code|code_verifier)` +
        String.raw`(\\?["']?\s{0,8}[:=]\s{0,8}\\?["']?)(?!\[redacted\])(?:(?:token|bearer|basic)\s{1,8})?${value}`,
      'gi',
    ),
    replaceWith: `$1$2${replacement}`,
  },
  // Credentials of a proxy or a base URL.
  { find: /(?<=:\/\/)[^\s/@"'\\]{1,300}(?=@)/g, replaceWith: replacement },
]

/** One cheap pass for a part of every shape. Nearly every log line has none and skips the shapes. */
const suspicious = new RegExp(
  [
    'gh[opsru]_|github_pat_',
    'tid(?:=|%3D)',
    '(?:exp|sku|st|proxy-ep)=',
    'Bearer|Basic',
    '[sp]k-',
    'eyJ',
    ...keyHeaders,
    'cookie|api[-_]?key|client[-_]secret|password',
    '(?:access|refresh|id)[-_]?token|device_code|device_auth_id|code_verifier',
    '://[^\\s/@]{1,300}@',
  ].join('|'),
  'i',
)

/** Replaces everything shaped like a credential by `[redacted]`. Idempotent. The last line of defence for text shown to people. */
export function redactText(text: string): string {
  if (!suspicious.test(text)) return text
  let redacted = text
  for (const { find, replaceWith } of patterns) redacted = redacted.replaceAll(find, replaceWith)
  return redacted
}

/** The parts of a text that are shaped like a credential, as `redactText` replaces them. They may overlap. */
export const findShapes: FindSecrets = (text) => {
  if (!suspicious.test(text)) return []
  return patterns.flatMap(({ find }) =>
    [...text.matchAll(find)].map((match) => {
      // What the groups match stays.
      const kept = match.slice(1).reduce((length, group: string | undefined) => length + (group?.length ?? 0), 0)
      return { start: match.index + kept, end: match.index + match[0].length }
    }),
  )
}

/** Field names whose value is never logged, in lower case with separators removed. */
const secretNames = new Set([
  ...Array.from(mayHoldKey, withoutSeparators),
  'proxyauthorization',
  'token',
  'tokens',
  'accesstoken',
  'githubaccesstoken',
  'githubtoken',
  'refreshtoken',
  'idtoken',
  'apikey',
  'apikeys',
  'cookie',
  'setcookie',
  'password',
  'secret',
  'clientsecret',
  'devicecode',
  'deviceauthid',
  'authorizationcode',
  'usercode',
  'codeverifier',
])

/** The 16 names of a log line would take 2 µs. */
const isSecretName = rememberResults((name) => secretNames.has(withoutSeparators(name.toLowerCase())))

function withoutSeparators(name: string): string {
  return name.replaceAll(/[-_]/g, '')
}

/** Deeper values are replaced by a mark, which also ends cycles. */
const maxDepth = 8

export interface CopyRules {
  /** Default true. */
  readonly keepStacks?: boolean
  /** Names the copy of a field. Default: the same name. */
  readonly nameOf?: (name: string) => string
}

/**
 * Copies log fields without those that are undefined, replaces the values of secret names at any depth, and turns errors
 * into plain objects (name, message, code, stack, cause and their own fields), so that fields a library adds to an error
 * are redacted too.
 */
export function redactFields(
  fields: Readonly<Record<string, unknown>>,
  rules: CopyRules = {},
): Record<string, unknown> {
  return copyFields(fields, rules, 0)
}

function copyFields(fields: object, rules: CopyRules, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const field: unknown = Reflect.get(fields, name)
    if (field === undefined) continue
    copy[rules.nameOf?.(name) ?? name] =
      isSecretName(name) && field !== null ? replacement : copyValue(field, rules, depth + 1)
  }
  return copy
}

function copyValue(field: unknown, rules: CopyRules, depth: number): unknown {
  if (typeof field === 'bigint') return field.toString()
  if (typeof field !== 'object' || field === null) return field
  if (depth > maxDepth) return '[deeper]'
  if (field instanceof Error) return copyError(field, rules, depth)
  if (Array.isArray(field)) {
    // Raw headers are lists of alternating names and values, or of pairs.
    return field.map((item, i) =>
      typeof field[i - 1] === 'string' && isSecretName(field[i - 1]) ? replacement : copyValue(item, rules, depth + 1),
    )
  }
  if (ArrayBuffer.isView(field)) return `[${field.byteLength} bytes]`
  if (field instanceof Date || field instanceof URL) return field.toString()
  if (field instanceof Map || field instanceof Set) return `[${field.size} entries]`
  return copyFields(field, rules, depth)
}

function copyError(error: Error, rules: CopyRules, depth: number): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    // The stack of a Fault says nothing; its cause has the stack of the failure.
    ...(rules.keepStacks !== false && !(error instanceof Fault) && { stack: error.stack }),
    ...copyFields(error, rules, depth),
    ...(error.cause === undefined ? {} : { cause: copyValue(error.cause, rules, depth + 1) }),
  }
}
