import { editDistance } from '../config/near-match.ts'
import type { ProviderId } from '../executors/executor.ts'

/** In the order of listing. */
export const providers = ['copilot', 'codex'] as const satisfies readonly ProviderId[]

/** One spelling of the name that a caller used. */
export interface NameForm {
  readonly name: string
  /** Matches only models with at least this context window. Tokens. */
  readonly minContextWindow?: number
}

export type NameResult<Found> =
  | { readonly ok: true; readonly value: Found }
  | {
      readonly ok: false
      /** The name that matched nothing: the caller's, or the target of its alias. */
      readonly wanted: string
      readonly viaAlias: boolean
    }

/**
 * Looks up the name in its normal forms (`nameForms`), or the target of its alias in theirs. An alias without its target
 * fails: the user asked for no other model. A name with a provider's prefix means the provider's model first.
 */
export function resolveName<Found>(
  name: string,
  target: string | undefined,
  find: (form: NameForm) => Found | undefined,
): NameResult<Found> {
  const wanted = target ?? name
  // Most names are exact; the other forms take 5 µs.
  const isExact = target === undefined || providerOfName(name) !== undefined
  const exact = isExact ? find({ name }) : undefined
  if (exact !== undefined) return { ok: true, value: exact }
  for (const form of nameForms(wanted)) {
    const value = find(form)
    if (value !== undefined) return { ok: true, value }
  }
  return { ok: false, wanted, viaAlias: target !== undefined }
}

/** `models.aliases`: the target of each name or pattern with `*`, or a list of targets: the first, then its fallbacks. */
export type Aliases = Readonly<Record<string, string | readonly string[]>>

export interface AliasTable {
  readonly all: readonly (readonly [name: string, targets: readonly string[]])[]
  /**
   * The targets of the alias that a name matches: that of the exact name, else of the longest pattern. Never aliases
   * themselves. Patterns do not match names with a provider's prefix.
   */
  readonly targetsOf: (name: string) => readonly string[] | undefined
}

export function createAliasTable(aliases: Aliases): AliasTable {
  const all = Object.entries(aliases).map(([name, target]) => [name, [target].flat()] as const)
  // A Map, because `constructor` of a plain object would be an alias.
  const exact = new Map(all.filter(([name]) => !isPattern(name)))
  const patterns = all.filter(([name]) => isPattern(name)).toSorted(([a], [b]) => b.length - a.length)

  function matched(name: string, end = ''): readonly string[] | undefined {
    if (patterns.length === 0 || providerOfName(name) !== undefined) return undefined
    return patterns.find(([pattern]) => pattern.endsWith(end) && matchesGlob(pattern, name))?.[1]
  }

  return {
    all,
    targetsOf(name) {
      const mark = markOf(name)
      if (mark === undefined) return exact.get(name) ?? matched(name)
      // An alias with a long context mark means the long tier of its target.
      const plain = name.slice(0, -mark.length)
      const addMark = (target: string) => (markOf(target) === undefined ? `${target}${mark}` : target)
      return exact.get(name) ?? exact.get(plain)?.map(addMark) ?? matched(name, mark) ?? matched(plain)?.map(addMark)
    },
  }
}

export function isPattern(alias: string): boolean {
  return alias.includes('*')
}

/** `*` matches any run of characters. Case-sensitive, as model ids are. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  if (tail === undefined) return pattern === text
  if (!text.startsWith(head)) return false
  let position = head.length
  for (const part of rest) {
    const found = text.indexOf(part, position)
    if (found < 0) return false
    position = found + part.length
  }
  return text.length - tail.length >= position && text.endsWith(tail)
}

/** The provider in `copilot/…` or `codex/…`; `github_copilot/…` and `github-copilot/…` are Copilot's too, in any case. */
export function providerOfName(name: string): ProviderId | undefined {
  if (!name.includes('/')) return undefined
  const start = canonicalPrefix(name)
  return providers.find((provider) => start.startsWith(`${provider}/`))
}

function canonicalPrefix(name: string): string {
  return name.replace(/^(?:(?:github[-_])?copilot|codex)\//i, (found) => found.toLowerCase().replace(/^github./, ''))
}

/** Clients write these before the name of a model. A name means one model, whoever hosts it. */
const hosts = /^(?:anthropic|azure|gemini|google|moonshotai|openai|x-?ai)\//i

function markOf(name: string): (typeof longContextMarks)[number] | undefined {
  return longContextMarks.find((end) => name.endsWith(end))
}

/** Suffixes that name the long context tier: Claude Code's, and one for clients that cannot send brackets. */
export const longContextMarks = ['[1m]', '-long-context'] as const

/**
 * The name and its normal forms, nearest first: as given, then without the prefix of a maker or host (`openai/…`,
 * `anthropic/…`), then in lower case. Anthropic's clients write `claude-haiku-4-5-20251001`, `claude-opus-4-6-latest` or
 * `claude-opus-4-6[1m]` for Copilot's `claude-haiku-4.5` and `claude-opus-4.6`. Dated OpenAI names keep their date: the
 * undated name may be another snapshot. A long context mark means the model's long tier, else Copilot's older `…-1m`,
 * else a model whose only window is that long.
 */
export function nameForms(name: string): readonly NameForm[] {
  const plain = canonicalPrefix(name.replace(hosts, ''))
  return [...new Set([name, plain, plain.toLowerCase()])].flatMap(formsAsSpelled)
}

function formsAsSpelled(name: string): readonly NameForm[] {
  const prefix = providers.map((provider) => `${provider}/`).find((start) => name.startsWith(start)) ?? ''
  const id = name.slice(prefix.length)
  const mark = markOf(id)
  const plainId = mark === undefined ? id : id.slice(0, -mark.length)
  const plain = (plainId.startsWith('claude-') ? claudeForms(plainId) : [plainId]).map((form) => prefix + form)
  if (mark === undefined) return [...new Set([name, ...plain])].map((form) => ({ name: form }))
  return [
    { name },
    ...plain.map((form) => ({ name: form + longContextMarks[0] })),
    ...plain.map((form) => ({ name: `${form}-1m` })),
    ...plain.map((form) => ({ name: form, minContextWindow: longContextTokens })),
  ]
}

const longContextTokens = 1_000_000

/** The id as given, without its date, with a dotted version, and both. */
function claudeForms(id: string): readonly string[] {
  const undated = id.replace(/[-@](\d{8}|latest)$/, '')
  return [...new Set([id, undated, dotted(id), dotted(undated)])]
}

/** `claude-opus-4-6-fast` → `claude-opus-4.6-fast`, `claude-3-7-sonnet` → `claude-3.7-sonnet`. */
function dotted(id: string): string {
  return id.replace(/-(\d{1,2})-(\d{1,2})(?=-|$)/, '-$1.$2')
}

/** Longer names are cut: a caller chooses the name, and comparing costs its length squared. Characters. */
const comparedLength = 80

const mostSuggestions = 5

/**
 * The ids that a caller probably meant, closest first, at most five: those with small typing errors, the same beginning or
 * the same family. Case, dates, punctuation, provider prefixes and `[…]` suffixes make no difference.
 */
export function nearMisses(name: string, ids: readonly string[]): readonly string[] {
  const wanted = comparable(name)
  return ids
    .map((id) => ({ id, distance: closeness(wanted, comparable(id)) }))
    .filter((candidate) => candidate.distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, mostSuggestions)
    .map((candidate) => candidate.id)
}

function comparable(name: string): string {
  return name
    .slice(0, comparedLength)
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/\[[^\]]*\]$/, '')
    .replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
}

/** Added to the distance of names that share only their first word. */
const onlyFamily = 2 * comparedLength

/** 0 for the same name, Infinity for no likeness. */
function closeness(wanted: string, known: string): number {
  const distance = editDistance(wanted, known)
  if (distance <= Math.max(1, Math.floor(wanted.length / 5))) return distance
  if (wanted.length >= 3 && (known.startsWith(wanted) || wanted.startsWith(known))) return distance
  return firstWord(wanted) === firstWord(known) ? distance + onlyFamily : Infinity
}

function firstWord(name: string): string {
  return name.split('-', 1).join('')
}
