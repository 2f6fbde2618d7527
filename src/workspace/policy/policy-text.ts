import { z } from 'zod'
import { settingFaults } from '../../config/problem.ts'
import { readYaml } from '../../config/yaml-document.ts'

/** Maximum number of entries, which limits the time of a decision. */
const maxEntries = 1000

const entries = z
  .array(z.string('a text').min(1, 'a text that is not empty'), 'a list of texts')
  .max(maxEntries, `at most ${maxEntries} entries`)
  .nullish()

const filled = z.string('a text').min(1, 'a text that is not empty')

/** A command, or a command with the folders in which it may run. */
const commandPhrase = 'a command, or a table with run and in'
const commands = z
  .array(
    z.union(
      [
        z.string().min(1),
        z.strictObject({
          run: filled,
          in: z.union([filled, z.array(filled).min(1)], 'a folder, or a list of folders'),
        }),
      ],
      commandPhrase,
    ),
    'a list of commands',
  )
  .max(maxEntries, `at most ${maxEntries} entries`)
  .nullish()

/** `.agent-policy.yaml`. A section or list may have no value, because all its entries may be comments. */
const policySchema = z.strictObject(
  {
    reads: z.strictObject({ allow: entries, deny: entries }, 'a table with allow and deny').nullish(),
    writes: z.strictObject({ allow: entries, deny: entries }, 'a table with allow and deny').nullish(),
    shell: z.strictObject({ allow: commands, network: entries }, 'a table with allow and network').nullish(),
  },
  'a table with reads, writes and shell',
)

/** The text of a list entry. */
export interface Entry {
  readonly text: string
  /** Counted from 1. */
  readonly line: number
}

/** A command of `shell.allow`. */
export interface CommandEntry extends Entry {
  /** Patterns of the folders in which it may run. Undefined: in the folder of the policy. */
  readonly in: readonly string[] | undefined
}

/** The lists of a policy file. Undefined for a list that is absent; a list without a value is empty. */
export interface PolicyLists {
  readonly allowedSecrets: readonly Entry[] | undefined
  readonly deniedReads: readonly Entry[] | undefined
  readonly allowedWrites: readonly Entry[] | undefined
  readonly deniedWrites: readonly Entry[] | undefined
  readonly allowedCommands: readonly CommandEntry[] | undefined
  readonly network: readonly Entry[] | undefined
}

export type PolicyText =
  | { readonly ok: true; readonly lists: PolicyLists }
  /** `detail` is a clause or sentence without a full stop. Lines and columns are counted from 1. */
  | { readonly ok: false; readonly line: number; readonly detail: string }

/** Reads the text of a policy file. A malicious text of 64 KB takes seconds. */
export function readPolicyText(text: string): PolicyText {
  const read = readYaml(text)
  if (!read.ok) {
    const { position, key, detail } = read.fault
    return { ok: false, line: position.line, detail: key === '' ? detail : `${key}: ${detail}` }
  }
  const { value, locate } = read.value
  const tree = value ?? {}
  const parsed = policySchema.safeParse(tree, { jitless: true })
  if (!parsed.success) {
    const [first] = settingFaults(parsed.error.issues, tree, policySchema, [])
    const { path = [], part = 'value', detail = 'is invalid' } = first ?? {}
    return {
      ok: false,
      line: locate(path, part).line,
      detail: path.length === 0 ? detail : `${path.join('.')}: ${detail}`,
    }
  }
  const { reads, writes, shell } = parsed.data
  const entriesOf = (texts: readonly string[] | null | undefined, path: readonly PropertyKey[]) =>
    texts === undefined
      ? undefined
      : (texts ?? []).map((entry, index): Entry => ({ text: entry, line: locate([...path, index], 'value').line }))
  return {
    ok: true,
    lists: {
      allowedSecrets: entriesOf(reads?.allow, ['reads', 'allow']),
      deniedReads: entriesOf(reads?.deny, ['reads', 'deny']),
      allowedWrites: entriesOf(writes?.allow, ['writes', 'allow']),
      deniedWrites: entriesOf(writes?.deny, ['writes', 'deny']),
      allowedCommands:
        shell?.allow === undefined
          ? undefined
          : (shell.allow ?? []).map((entry, index): CommandEntry => {
              const { line } = locate(['shell', 'allow', index], 'value')
              if (typeof entry === 'string') return { text: entry, line, in: undefined }
              return { text: entry.run, line, in: typeof entry.in === 'string' ? [entry.in] : entry.in }
            }),
      network: entriesOf(shell?.network, ['shell', 'network']),
    },
  }
}
