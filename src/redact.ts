import { Fault } from './errors.ts'

const replacement = '[redacted]'

/** Where a value ends inside running text, JSON (also escaped JSON) or a URL. */
const value = String.raw`[^\s"'\\<>,;&)}\]]+`

/** Where a word can begin, also right after an escaped line break, whose letter would join it. */
const start = String.raw`(?:\b|(?<=\\[nrt])|(?<=\\u[\da-f]{4}))`

/**
 * Shapes of credentials this program can meet. Every quantifier that could rescan is bounded, so a long hostile
 * text costs linear time.
 */
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
      String.raw`${start}(authorization|(?:set-)?cookie|x-api-key|api[-_]?key|client[-_]secret|password|` +
        String.raw`(?:github_)?(?:access|refresh|id)[-_]?token|device_code|device_auth_id|authorization_code|code_verifier)` +
        String.raw`(\\?["']?\s{0,8}[:=]\s{0,8}\\?["']?)(?!\[redacted\])(?:(?:token|bearer|basic)\s{1,8})?${value}`,
      'gi',
    ),
    replaceWith: `$1$2${replacement}`,
  },
  // Credentials of a proxy or a base URL.
  { find: /:\/\/[^\s/@"'\\]{1,300}@/g, replaceWith: `://${replacement}@` },
]

/**
 * What each of them has in it, found in one pass: nearly every log line has nothing, and to try the shapes one by one at
 * each of its characters would cost more than the rest of the line.
 */
const suspicious = new RegExp(
  [
    'gh[opsru]_|github_pat_',
    'tid(?:=|%3D)',
    '(?:exp|sku|st|proxy-ep)=',
    'Bearer|Basic',
    '[sp]k-',
    'eyJ',
    'authorization|cookie|api[-_]?key|client[-_]secret|password',
    '(?:access|refresh|id)[-_]?token|device_code|device_auth_id|code_verifier',
    '://[^\\s/@]{1,300}@',
  ].join('|'),
  'i',
)

/**
 * The text with everything shaped like a credential replaced by `[redacted]`. The last line of defence for log lines,
 * error messages and upstream text shown to people; applying it twice changes nothing more.
 */
export function redactText(text: string): string {
  if (!suspicious.test(text)) return text
  let redacted = text
  for (const { find, replaceWith } of patterns) redacted = redacted.replaceAll(find, replaceWith)
  return redacted
}

/** Field names whose value is never logged, in lower case with separators removed. */
const secretNames = new Set([
  'authorization',
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
  'xapikey',
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

/** Log fields have few names. */
const judgedNames = new Map<string, boolean>()
const mostJudged = 1000

function isSecretName(name: string): boolean {
  const judged = judgedNames.get(name)
  if (judged !== undefined) return judged
  const isSecret = secretNames.has(name.toLowerCase().replaceAll(/[-_]/g, ''))
  if (judgedNames.size < mostJudged) judgedNames.set(name, isSecret)
  return isSecret
}

/** Deeper values are replaced by a mark: log fields are meant to be shallow, and a cycle must end somewhere. */
const maxDepth = 8

/**
 * A copy of log fields in which values of secret names are replaced, at any depth, and errors become plain objects
 * (name, message, code, stack, cause and their own fields), so that nothing a library hangs on an error slips through.
 * @param keepStacks false: for lines about what is expected to happen now and then, where a stack is noise
 */
export function redactFields(
  fields: Readonly<Record<string, unknown>>,
  { keepStacks = true }: { readonly keepStacks?: boolean } = {},
): Record<string, unknown> {
  return copyFields(fields, keepStacks, 0)
}

function copyFields(fields: object, keepStacks: boolean, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const field: unknown = Reflect.get(fields, name)
    copy[name] =
      isSecretName(name) && field !== undefined && field !== null
        ? replacement
        : copyValue(field, keepStacks, depth + 1)
  }
  return copy
}

function copyValue(field: unknown, keepStacks: boolean, depth: number): unknown {
  if (typeof field === 'bigint') return field.toString()
  if (typeof field !== 'object' || field === null) return field
  if (depth > maxDepth) return '[deeper]'
  if (field instanceof Error) return copyError(field, keepStacks, depth)
  if (Array.isArray(field)) {
    // Raw headers are lists of name, value, name, value, and pairs of them are lists too.
    return field.map((item, i) =>
      typeof field[i - 1] === 'string' && isSecretName(field[i - 1])
        ? replacement
        : copyValue(item, keepStacks, depth + 1),
    )
  }
  if (ArrayBuffer.isView(field)) return `[${field.byteLength} bytes]`
  if (field instanceof Date || field instanceof URL) return field.toString()
  if (field instanceof Map || field instanceof Set) return `[${field.size} entries]`
  return copyFields(field, keepStacks, depth)
}

function copyError(error: Error, keepStacks: boolean, depth: number): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    // A Fault is made where a failure is named; the stack of what failed is its cause's.
    ...(keepStacks && !(error instanceof Fault) && { stack: error.stack }),
    ...copyFields(error, keepStacks, depth),
    ...(error.cause === undefined ? {} : { cause: copyValue(error.cause, keepStacks, depth + 1) }),
  }
}
