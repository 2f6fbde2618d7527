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
 * Looks up the exact name, else the target of its alias, else its normal forms (`nameForms`). The target of an alias is
 * never another alias, so there are no loops. An alias without its target fails: the user asked for no other model.
 */
export function resolveName<Found>(
  name: string,
  aliases: ReadonlyMap<string, string>,
  find: (form: NameForm) => Found | undefined,
): NameResult<Found> {
  const exact = find({ name })
  if (exact !== undefined) return { ok: true, value: exact }
  const target = aliases.get(name) ?? markedTarget(name, aliases)
  for (const form of nameForms(target ?? name)) {
    const value = find(form)
    if (value !== undefined) return { ok: true, value }
  }
  return { ok: false, wanted: target ?? name, viaAlias: target !== undefined }
}

/** The provider in `copilot/…` or `codex/…`. */
export function providerOfName(name: string): ProviderId | undefined {
  return providers.find((provider) => name.startsWith(`${provider}/`))
}

/** An alias with a long context mark stands for the long tier of its target. */
function markedTarget(name: string, aliases: ReadonlyMap<string, string>): string | undefined {
  const mark = longContextMarks.find((end) => name.endsWith(end))
  const target = mark && aliases.get(name.slice(0, -mark.length))
  return target && !longContextMarks.some((end) => target.endsWith(end)) ? `${target}${mark}` : target
}

/** Suffixes that name the long context tier: Claude Code's, and one for clients that cannot send brackets. */
export const longContextMarks = ['[1m]', '-long-context'] as const

/**
 * The name and its normal forms, nearest first. Anthropic's clients write `claude-haiku-4-5-20251001`,
 * `claude-opus-4-6-latest` or `claude-opus-4-6[1m]` for Copilot's `claude-haiku-4.5` and `claude-opus-4.6`. Dated OpenAI
 * names stay: there the undated name may be another snapshot. A long context mark means the model's long tier, else
 * Copilot's older `…-1m`, else a model whose only window is that long.
 */
export function nameForms(name: string): readonly NameForm[] {
  const provider = providerOfName(name)
  const prefix = provider === undefined ? '' : `${provider}/`
  const id = name.slice(prefix.length)
  const mark = longContextMarks.find((end) => id.endsWith(end))
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
  const undated = id.replace(/-(\d{8}|latest)$/, '')
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
