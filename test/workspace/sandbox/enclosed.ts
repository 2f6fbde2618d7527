import { execFile, spawn, spawnSync, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { enclosureOfMachine } from '../../../src/workspace/sandbox/create-sandbox.ts'
import { canSwitchUser, otherUid } from '../../http/access/other-user.ts'
import { some } from '../../thorough.ts'

interface EnclosedCommand {
  readonly script: string
  readonly timeoutMs?: number
  readonly access?: 'write' | 'read'
  readonly cwd?: string
  /** Entries of `shell.network`. */
  readonly network?: 'public' | readonly string[]
  readonly widening?: 'network'
}

export interface EnclosedRuns {
  readonly root: string
  readonly home: string
  readonly own: readonly string[]
  readonly folders: readonly string[]
  readonly mode: 'auto' | 'off'
  readonly commands: readonly EnclosedCommand[]
  /** The addresses of names, one list for each look-up; the last one is repeated. Names that are not here have none. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** Addresses that count as public. */
  readonly reachable?: readonly string[]
  /** A folder of the root that a link replaces when the sandbox of a command is planned, and not yet made. */
  readonly swap?: { readonly folder: string; readonly target: string }
  /** Variables that name a proxy of the runner. */
  readonly proxy?: Readonly<Record<string, string>>
}

const result = z.object({
  exitCode: z.number().default(-1),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  timedOut: z.boolean().default(false),
  sandbox: z.string().default(''),
  notes: z.array(z.string()).default([]),
  needs: z.string().default(''),
  error: z.string().default(''),
})
type EnclosedResult = z.infer<typeof result>

const enclosure = await enclosureOfMachine()
const program = fileURLToPath(new URL('children/run-enclosed.ts', import.meta.url))
const canOthersRun =
  canSwitchUser &&
  spawnSync(process.execPath, ['--check', program], { uid: otherUid, gid: otherUid, cwd: '/' }).status === 0

export interface Person {
  readonly title: string
  readonly uid: number | undefined
  /** Who owns the workspace. */
  readonly ownerUid: number | undefined
}

const persons: readonly Person[] = [
  { title: 'as the user of the tests', uid: undefined, ownerUid: undefined },
  ...(canOthersRun
    ? [
        { title: 'as another user', uid: otherUid, ownerUid: otherUid },
        { title: 'as root in a workspace of another user', uid: undefined, ownerUid: otherUid },
      ]
    : []),
]

/** For tests of what no user changes: one user outside of a thorough run. */
export const fewPersons = some(persons, persons.length)

/**
 * Describes tests for each user that can run here, or for one of them outside of a thorough run: other users for other
 * titles. The tests are skipped, with the reason in their title, where there is no sandbox.
 */
export function describeEnclosed(
  title: string,
  define: (person: Person) => void,
  chosen: readonly Person[] = some(persons, persons.length, title.length),
): void {
  if (enclosure.kind === 'none')
    describe.skip(`${title}: ${enclosure.reason}`, () => define({ title, uid: undefined, ownerUid: undefined }))
  else for (const person of chosen) describe(`${title}, ${person.title}`, () => define(person))
}

/** Creates a workspace, a home folder and a folder of copilot-proxy, and a function that runs scripts in the sandbox. */
export async function createEnclosed({ uid, ownerUid }: Person, files: Readonly<Record<string, string>> = {}) {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'enclosed-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const [root, home, own] = [
    join(base, 'work', 'project'),
    join(base, 'home'),
    join(base, 'home', '.config', 'copilot-proxy'),
  ]
  for (const folder of [root, own]) await mkdir(folder, { recursive: true })
  const all = { ...files, '../../home/.config/copilot-proxy/owner-token': 'the-token', '../../home/.ssh/id': 'the-key' }
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const give = async (...args: readonly string[]): Promise<unknown> =>
    ownerUid === undefined ? undefined : run('chown', ['-R', `${ownerUid}:${ownerUid}`, ...args])
  await give(base)
  const given: EnclosedRuns = { root, home, own: [own], folders: [], mode: 'auto', commands: [] }
  const user = uid === undefined ? {} : { uid, gid: uid }
  const scripts = async (
    commands: readonly (string | EnclosedCommand)[],
    options: Partial<EnclosedRuns> = {},
  ): Promise<readonly EnclosedResult[]> => {
    await give(root)
    return runnerFor(uid)({
      ...given,
      ...options,
      commands: commands.map((each) => (typeof each === 'string' ? { script: each } : each)),
    })
  }
  /** Runs one script. */
  const script = async (text: string, options?: Partial<EnclosedRuns>): Promise<EnclosedResult> => {
    const [first] = await scripts([text], options)
    if (first === undefined) throw new Error('the script gave no result')
    return first
  }
  return { base, root, home, own, script, scripts, given, user }
}

type Runner = (runs: EnclosedRuns) => Promise<readonly EnclosedResult[]>

const runners = new Map<number | undefined, Runner>()

/** Returns the process of a user that runs commands in the sandbox. It ends with this one. */
function runnerFor(uid: number | undefined): Runner {
  const known = runners.get(uid) ?? startRunner(uid)
  runners.set(uid, known)
  return known
}

function startRunner(uid: number | undefined): Runner {
  const user = uid === undefined ? {} : { uid, gid: uid }
  const child = spawn(process.execPath, [program], { ...user, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  // It must not keep the tests from ending.
  child.unref()
  return async (runs) => {
    child.stdin.write(`${JSON.stringify(runs)}\n`)
    const results: EnclosedResult[] = []
    while (results.length < runs.commands.length) {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the runner has ended')
      results.push(result.parse(JSON.parse(value)))
    }
    return results
  }
}

/** A script that writes twenty bytes a second into the file `alive` until it ends. */
export const beat = 'while :; do echo >> alive; sleep 0.05; done'

/** Runs commands that beat, kills the process that has started them, and expects that they end. */
export async function expectEndWithRunner(root: string, user: SpawnOptions, given: EnclosedRuns): Promise<void> {
  const [file, ...args] = runnerOf(given)
  const runner = spawn(file, args, { ...user, cwd: '/', stdio: 'ignore' })
  const size = (): number => (existsSync(join(root, 'alive')) ? readFileSync(join(root, 'alive')).length : 0)
  await vi.waitUntil(() => size() > 2, { timeout: 30_000, interval: 50 })
  runner.kill('SIGKILL')
  await once(runner, 'exit')
  let last = -1
  const hasEnded = (): boolean => {
    const before = last
    last = size()
    return before === last
  }
  await vi.waitUntil(hasEnded, { timeout: 10_000, interval: 500 })
}

/** Returns the command that runs commands in the sandbox, in a process of its own. */
export function runnerOf(given: EnclosedRuns): readonly [string, ...string[]] {
  return [process.execPath, program, JSON.stringify(given)]
}

const run = promisify(execFile)
