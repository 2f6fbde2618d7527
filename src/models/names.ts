import type { ProviderId } from '../executors/executor.ts'

/** Those that a name can ask for, in the order in which their models are listed. */
export const providers = ['copilot', 'codex'] as const satisfies readonly ProviderId[]

/** One way of writing the model a caller named. */
export interface NameForm {
  readonly name: string
  /** Tokens. The form means only a model whose context window is at least this. */
  readonly minContextWindow?: number
}

export type NameResult<Found> =
  | { readonly ok: true; readonly value: Found }
  | {
      readonly ok: false
      /** The name nothing was found for: the caller's, or the target of the alias it is. */
      readonly wanted: string
      readonly viaAlias: boolean
    }

/**
 * Finds what a caller's model name stands for: the exact name, else the alias of that name, else the name in one of
 * its stated normal forms (`nameForms`). An alias names its target exactly or in a normal form, never another alias,
 * so there are no loops; one whose target is missing fails, because the user asked for that target and no other.
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

/** Whose model a name asks for, where it is `copilot/…` or `codex/…`. */
export function providerOfName(name: string): ProviderId | undefined {
  return providers.find((provider) => name.startsWith(`${provider}/`))
}

/** What an alias with a mark of long context stands for: the long tier of the alias's model. */
function markedTarget(name: string, aliases: ReadonlyMap<string, string>): string | undefined {
  const mark = longContextMarks.find((end) => name.endsWith(end))
  const target = mark && aliases.get(name.slice(0, -mark.length))
  return target && !longContextMarks.some((end) => target.endsWith(end)) ? `${target}${mark}` : target
}

/** Claude Code's way of asking for the long context tier of a model, and that of clients that cannot send brackets. */
export const longContextMarks = ['[1m]', '-long-context'] as const

/**
 * The name itself, then its normal forms, nearest first. Anthropic's clients write `claude-haiku-4-5-20251001`,
 * `claude-opus-4-6-latest` or `claude-opus-4-6[1m]` for the models that Copilot lists as `claude-haiku-4.5` and
 * `claude-opus-4.6`. Dated OpenAI names are left alone: there the undated name may be another snapshot. A mark of long
 * context stands for the long tier of that very model, else for Copilot's older `…-1m`, else for a model whose only
 * window is that long.
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

/** The id as given, undated, with a dotted version, and both. */
function claudeForms(id: string): readonly string[] {
  const undated = id.replace(/-(\d{8}|latest)$/, '')
  return [...new Set([id, undated, dotted(id), dotted(undated)])]
}

/** `claude-opus-4-6-fast` → `claude-opus-4.6-fast`, `claude-3-7-sonnet` → `claude-3.7-sonnet`. */
function dotted(id: string): string {
  return id.replace(/-(\d{1,2})-(\d{1,2})(?=-|$)/, '-$1.$2')
}
