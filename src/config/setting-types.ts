import { posix, win32 } from 'node:path'
import { z } from 'zod'
import { apiKeyEntryFault, parseApiKeyEntry } from './api-keys.ts'
import { canonicalHost, isLoopbackHost } from './loopback.ts'

/*
 * Kinds of values. The error of a schema is the phrase after "expected", to which problem.ts adds the value found. The error
 * of a refinement is a full sentence and never repeats a value that could be secret.
 */

/** YAML reads `1234` as a number, and an API key can look like one. */
export function textPhrase({ input }: { readonly input: unknown }): string {
  return typeof input === 'number' ? 'text (put numbers in quotes)' : 'text'
}

export const text = z.string({ error: textPhrase })

export const filledText = z.string({ error: textPhrase }).trim().min(1, 'non-empty text')

const versionPhrase = 'a version such as 0.169.0'
export const versionText = z.string(versionPhrase).regex(/^\d+\.\d+\.\d+$/, versionPhrase)

export const onOff = z.boolean('true or false')

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, `one of ${values.join(', ')}`)
}

export function wholeNumber(min: number, max: number) {
  const phrase = `a whole number from ${min} to ${max}`
  return z.int(phrase).min(min, phrase).max(max, phrase)
}

/**
 * The ports to which browsers and `fetch` of Node.js refuse to connect (fetch.spec.whatwg.org, "port blocking", 2026-11).
 * A daemon there would answer curl, but neither its own commands nor most clients.
 */
export const blockedPorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
])

export const port = wholeNumber(0, 65_535).refine(
  (number) => !blockedPorts.has(number),
  'browsers and Node.js refuse to connect to this port. Choose another one, e.g. 4141',
)

export function positiveNumber(max: number) {
  const phrase = `a number above 0 and up to ${max}`
  return z.number(phrase).gt(0, phrase).max(max, phrase)
}

/** Node's timers overflow after 24 days and then fire at once. */
const daySeconds = 86_400

export const positiveSeconds = positiveNumber(daySeconds)

const graceSecondsPhrase = `a number from 0 to ${daySeconds}`
export const graceSeconds = z.number(graceSecondsPhrase).min(0, graceSecondsPhrase).max(daySeconds, graceSecondsPhrase)

const hostPhrase = 'a host name or an IP address'
export const bindHost = z
  .string(hostPhrase)
  .refine((host) => canonicalHost(host) !== undefined, `expected ${hostPhrase}`)
  .overwrite((host) => canonicalHost(host) ?? host)

const hostEntry = z
  .string('a host')
  .regex(
    /^[a-z0-9._-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i,
    'a host such as proxy.example or proxy.example:4141',
  )
  .toLowerCase()
export const hostList = z.array(hostEntry, 'a list of hosts')

const originEntry = z
  .string('an origin')
  .regex(/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i, 'an origin such as https://app.example, without a path')
  .toLowerCase()
export const originList = z.array(originEntry, 'a list of origins')

export const modelList = z.array(filledText, 'a list of model names')

const apiKeyEntry = filledText.superRefine((entry, context) => {
  const fault = apiKeyEntryFault(entry)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
})

/** Plain keys, or `NAME:sha256:<64 hex digits>` with unique names. */
export const apiKeyList = z.array(apiKeyEntry, 'a list of keys').superRefine((entries, context) => {
  const seen = new Set<string>()
  for (const [index, written] of entries.entries()) {
    const entry = parseApiKeyEntry(written)
    if (entry?.form !== 'hash') continue
    const name = entry.name.toLowerCase()
    if (seen.has(name)) {
      context.addIssue({ code: 'custom', path: [index], message: `two keys have the name ${entry.name}` })
    }
    seen.add(name)
  }
})

/** A model, or a list of models of which the later ones are fallbacks. */
const aliasTarget = z.union([filledText, z.array(filledText).min(1, 'at least one model')], {
  error: ({ input }) =>
    Array.isArray(input) ? 'a list of model names (put numbers in quotes)' : textPhrase({ input }),
})

export const aliasTable = z
  .record(z.string().min(1, 'expected a name'), aliasTarget, 'a table of aliases and their models')
  .superRefine((aliases, context) => {
    const names = new Set(Object.keys(aliases).map((name) => name.trim()))
    for (const [name, value] of Object.entries(aliases)) {
      for (const [index, target] of [value].flat().entries()) {
        const fault = targetFault(name.trim(), target, names)
        if (fault === undefined) continue
        context.addIssue({ code: 'custom', path: Array.isArray(value) ? [name, index] : [name], message: fault })
      }
    }
  })

function targetFault(name: string, target: string, names: ReadonlySet<string>): string | undefined {
  if (target.includes('*')) return `the target "${target}" must be a model name without *`
  if (!names.has(target)) return undefined
  const subject = target === name ? 'an alias cannot be its own target' : `the target "${target}" is another alias`
  return `${subject}; use the name of a model, such as copilot/${target.replace(/^.*\//, '')}`
}

const perMinutePhrase = 'a whole number from 1 to 1000000'
const creditsPhrase = 'a number above 0'
const noLimitPhrase = '0 (no limit) or a number above 0'
/** AI credits; 0: no limit. */
export const creditLimit = z.number(noLimitPhrase).min(0, noLimitPhrase)

/** Limits by the name of a key. */
export const keyLimitTable = z.record(
  z.string(),
  z.strictObject(
    {
      'requests-per-minute': z.int(perMinutePhrase).min(1, perMinutePhrase).max(1_000_000, perMinutePhrase).optional(),
      'credits-per-day': z.number(creditsPhrase).gt(0, creditsPhrase).optional(),
      models: modelList.min(1, 'at least one model').optional(),
      account: filledText.optional(),
    },
    'a table of limits',
  ),
  'a table of key names and their limits',
)

/** Why a URL is not acceptable, or undefined. Never repeats the URL: it may hold a password. */
function urlFault(value: string): string | undefined {
  const url = URL.parse(value)
  if (url === null || /\s/.test(value) || !/^https?:\/\//i.test(value)) {
    return 'expected a URL such as https://host.example'
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    return 'expected https: http is accepted for this machine only (127.0.0.1, [::1], localhost)'
  }
  if (url.username !== '' || url.password !== '') return 'expected a URL without user name and password'
  return /[?#]/.test(value) ? 'expected a URL without query and fragment' : undefined
}

function checkUrl(value: string, context: z.core.$RefinementCtx): void {
  const fault = urlFault(value)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
}

/** Used without a path appended. */
export const endpointUrl = z.string('a URL').superRefine(checkUrl)

/** A URL that paths are appended to. */
export const baseUrl = endpointUrl.overwrite((value) => value.replace(/\/+$/, ''))

/** As `baseUrl`; '': not set. */
export const optionalBaseUrl = z
  .string('a URL')
  .superRefine((value, context) => {
    if (value !== '') checkUrl(value, context)
  })
  .overwrite((value) => value.replace(/\/+$/, ''))

const folderPhrase = 'an absolute path, or one that starts with ~/'
const folderPath = z
  .string(folderPhrase)
  .refine(
    (path) => /^~(?:[/\\]|$)/.test(path) || posix.isAbsolute(path) || win32.isAbsolute(path),
    `expected ${folderPhrase}`,
  )

/** Folders of this machine. */
export const outerFolderList = z.array(folderPath, 'a list of folders')

/** What tools may do in a workspace: nothing that changes it, what its policy allows, or less than `true` (docs/workspace.md). */
export const readOnlyMode = z.union([z.boolean(), z.literal('locked')], 'true, false or locked')
export type ReadOnlyMode = z.output<typeof readOnlyMode>

interface WorkspaceEntry {
  readonly path: string
  readonly name?: string | undefined
  readonly 'allow-home'?: boolean | undefined
  /** Absent: `workspace.read-only`. */
  readonly 'read-only'?: ReadOnlyMode | undefined
}

const workspacePhrase =
  'an absolute path, a path that starts with ~/, or a table with path, name, read-only and allow-home'
const workspaceEntry = z.union(
  [
    folderPath.transform((path): WorkspaceEntry => ({ path })),
    z.strictObject({
      path: folderPath,
      name: filledText.max(100, 'a name of at most 100 characters').optional(),
      'allow-home': onOff.optional(),
      'read-only': readOnlyMode.optional(),
    }),
  ],
  workspacePhrase,
)
export const workspaceList = z.array(workspaceEntry, 'a list of folders')

const innerFolderPhrase = '* or a path relative to the root of the workspace'
/** Folders inside a workspace. */
export const folderList = z.array(
  z
    .string(innerFolderPhrase)
    .refine(
      (path) =>
        path.trim() !== '' && !posix.isAbsolute(path) && !win32.isAbsolute(path) && !path.split(/[/\\]/).includes('..'),
      `expected ${innerFolderPhrase}`,
    ),
  'a list of folders',
)
