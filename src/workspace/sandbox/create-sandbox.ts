import { existsSync } from 'node:fs'
import { chown, mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { geteuid } from 'node:process'
import { openFilteringProxy } from '../network/filtering-proxy.ts'
import { behindForwarder, findNode } from '../network/forwarder.ts'
import type { NetworkDeps } from '../network/judge-host.ts'
import { noPlaces, type OwnPlaces } from '../policy/own-places.ts'
import { policyName } from '../policy/policy-file.ts'
import { ToolError } from '../tool-error.ts'
import { bubblewrapArguments, cachePath, effectiveMounts, proxyPath, type Mount } from './bubblewrap-arguments.ts'
import { findMounts, isAt } from './find-mounts.ts'
import { hasPolicy, removeGitPointers, setPolicyAside } from './leftovers.ts'
import { probeEnclosure } from './probe.ts'
import { findWorktreePlaces } from './git-places.ts'
import { createSeenFolders, findProtectedPlaces, maxPlaces } from './protected-places.ts'
import type { Enclosure, ProgramStart, Sandbox, SandboxMode, SandboxState, StartedIn } from './sandbox.ts'
import { commandVariables } from './toolchains.ts'
import { realHome } from '../policy/check-root.ts'

export interface SandboxSettings {
  /** Called for each command, so that a changed configuration takes effect at once. */
  readonly mode: () => SandboxMode
  /** `workspace.sandbox-folders`, absolute. */
  readonly folders: () => readonly string[]
  /** Returns the user's home folder. May throw. */
  readonly homeDir: () => string
  readonly ownPlaces: OwnPlaces
  /** A folder for the caches of the commands of this workspace. Undefined: caches are lost with the command. */
  readonly cacheDir: string | undefined
  readonly probe?: () => Promise<Enclosure>
  /** Default: those of the system. */
  readonly network?: NetworkDeps
}

/** Protected files are sought again after this time. Ms. */
const freshMs = 2000

let probed: Promise<Enclosure> | undefined

/** Returns what works on this machine. The trial runs once in the life of the process. */
export function enclosureOfMachine(): Promise<Enclosure> {
  return (probed ??= probeEnclosure())
}

/** Returns what holds for commands with a value of `workspace.sandbox`. */
export async function sandboxState(mode: SandboxMode, probe = enclosureOfMachine): Promise<SandboxState> {
  if (mode !== 'off') return { mode, enclosure: await probe() }
  const enclosure = {
    kind: 'none',
    reason: 'workspace.sandbox is "off".',
    fix: 'Set workspace.sandbox to auto',
  } as const
  return { mode, enclosure }
}

/** What callers of the tools and the page learn about the sandbox of commands. */
export interface SandboxReport {
  readonly setting: SandboxMode
  readonly holds: Enclosure['kind']
  /** One sentence. */
  readonly description: string
}

export function reportSandbox(state: SandboxState): SandboxReport {
  return { setting: state.mode, holds: state.enclosure.kind, description: describeSandbox(state) }
}

/** Describes it in one sentence. */
export function describeSandbox({ mode, enclosure }: SandboxState): string {
  if (enclosure.kind === 'bubblewrap') {
    return `Commands run in bubblewrap ${enclosure.version}: they write only the workspace and reach only the hosts that the policy lists.`
  }
  const effect = mode === 'required' ? 'Commands are refused' : 'Commands run as you, with your files and your network'
  return `${effect}: ${enclosure.reason}`
}

const off: SandboxSettings = {
  mode: () => 'off',
  folders: () => [],
  homeDir: () => '/',
  ownPlaces: noPlaces,
  cacheDir: undefined,
}

/** @param root the real path of the workspace */
export function createSandbox(root: string, settings: SandboxSettings = off): Sandbox {
  const { mode, folders, homeDir, ownPlaces, cacheDir, probe = enclosureOfMachine, network: networkDeps } = settings
  let known: { readonly atMs: number; readonly places: ReturnType<typeof findProtectedPlaces> } | undefined
  const seen = createSeenFolders()
  let worktree: { readonly atMs: number; readonly places: ReturnType<typeof findWorktreePlaces> } | undefined

  /** The commands that run now and started while the root had no policy. */
  let withoutPolicy = 0

  function protectedPlaces(isWide: boolean): ReturnType<typeof findProtectedPlaces> {
    const nowMs = performance.now()
    if (known === undefined || nowMs - known.atMs > freshMs) {
      known = { atMs: nowMs, places: findProtectedPlaces(root, isWide, seen) }
    }
    return known.places
  }

  function worktreePlaces(): ReturnType<typeof findWorktreePlaces> {
    const nowMs = performance.now()
    if (worktree === undefined || nowMs - worktree.atMs > freshMs)
      worktree = { atMs: nowMs, places: findWorktreePlaces(root) }
    return worktree.places
  }

  async function start({ argv, cwd, access, programs = [], network, rule }: ProgramStart): Promise<StartedIn> {
    const wanted = rule === 'always enclosed' ? 'required' : rule === 'unsandboxed' ? 'off' : mode()
    const { enclosure } = await sandboxState(wanted, probe)
    if (enclosure.kind === 'none') {
      if (wanted === 'required' && rule !== 'never refused') {
        const setting = rule === undefined ? 'workspace.sandbox is "required"' : 'its setting says sandbox: true'
        const detail = `The program was not started: ${setting}, and it cannot be enclosed. ${enclosure.reason} ${enclosure.fix}.`
        throw new ToolError({ kind: 'denied', detail })
      }
      return {
        enclosure: 'none',
        argv,
        variables: {},
        mounts: [],
        end: async () => ({ notes: [], needsPublic: false }),
      }
    }
    const home = await realHome(homeDir)
    const isWide = home !== undefined && isAt(root, home)
    const owner = await stat(root)
    const isRoot = geteuid?.() === 0
    const runAs = isRoot && owner.uid !== 0 ? owner : undefined
    const node = network === undefined ? undefined : await nodeForNetwork()
    const started = node === undefined ? argv : behindForwarder(argv, { node, socketPath: proxyPath })
    const seenPrograms = [argv[0], ...programs, ...(node === undefined ? [] : [node])]
    const [around, protection, history, cache] = await Promise.all([
      ownPlaces.find().then((own) => {
        return findMounts({ root, home, folders: folders(), programs: seenPrograms, own, isRoot })
      }),
      access === 'write' || isWide ? protectedPlaces(isWide) : undefined,
      worktreePlaces(),
      access === 'write' ? openCache(cacheDir, runAs) : undefined,
    ])
    if ((protection?.hasTooMany === true || history.mounts.length > maxPlaces) && access === 'write') {
      const detail =
        'The program was not started: the workspace has more files that other programs execute or obey, such as .envrc or ' +
        '*.desktop, than the sandbox can protect. Remove those that nobody needs, or set workspace.sandbox to off in the configuration.'
      throw new ToolError({ kind: 'failed', detail })
    }
    const policyExists = await hasPolicy(root)
    const all: readonly Mount[] = [
      { kind: 'write', path: root },
      ...around,
      ...history.mounts,
      ...(protection?.mounts ?? []),
      // The list of protected files may be older than it.
      ...(policyExists ? [{ kind: 'read', path: join(root, policyName) } as const] : []),
    ]
    const mounts = access === 'write' ? all : readOnly(all)
    const proxy = network === undefined ? undefined : await openFilteringProxy(network, networkDeps)
    const inOrder = effectiveMounts([
      ...mounts,
      ...(cache === undefined ? [] : [{ kind: 'write', path: cachePath, from: cache } as const]),
      ...(proxy === undefined ? [] : [{ kind: 'read', path: proxyPath, from: proxy.socketPath } as const]),
    ])
    const args = bubblewrapArguments({ argv: started, cwd, mounts: inOrder, runAs })
    // A server runs for long. A person may write a policy meanwhile.
    const isCommand = access === 'write' && rule !== 'always enclosed'
    if (isCommand && !policyExists) withoutPolicy += 1
    return {
      enclosure: 'bubblewrap',
      argv: [enclosure.program, ...args],
      mounts: inOrder,
      variables: {
        HOME: homeIn(mounts, home),
        ...commandVariables(cache === undefined ? '/tmp/cache' : cachePath, network !== undefined),
      },
      async end() {
        const { sentences, needsPublic } = (await proxy?.close()) ?? { sentences: [], needsPublic: false }
        if (!isCommand || protection === undefined) return { notes: sentences, needsPublic }
        const aside = policyExists ? [] : await setPolicyAside(root)
        if (!policyExists) withoutPolicy -= 1
        await removeGitPointers([...protection.gitFolders, ...history.folders])
        // The next command can use what is found now.
        known = undefined
        worktree = undefined
        const [after, historyAfter] = await Promise.all([protectedPlaces(isWide), worktreePlaces()])
        const made = madeSentence([
          ...changedIn(root, protection.obeyed, after.obeyed),
          ...changedIn(root, history.obeyed, historyAfter.obeyed),
        ])
        const unseen = protection.isPartial ? [partialSentence] : []
        return { notes: [...sentences, ...aside, ...made, ...unseen], needsPublic }
      },
    }
  }

  return { state: () => sandboxState(mode(), probe), start, distrustsPolicy: () => withoutPolicy > 0 }
}

/** Returns the paths that are new, and the links that lead elsewhere than before or have become files or folders. */
function changedIn(
  root: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const found = Array.from(after).flatMap(([path, target]) => (before.get(path) === target ? [] : path))
  const replaced = Array.from(before).flatMap(([path, target]) => {
    return target !== '' && !after.has(path) && existsSync(resolve(root, path)) ? path : []
  })
  return [...found, ...replaced]
}

/** Folders that must stay mount points need it only where something can be renamed. */
function readOnly(mounts: readonly Mount[]): readonly Mount[] {
  return mounts.map((mount) => (mount.kind === 'write' ? { ...mount, kind: 'read' } : mount))
}

/** The home folder of some users of the system is a folder of programs, or does not exist. */
function homeIn(mounts: readonly Mount[], home: string | undefined): string {
  return mounts.some(({ path }) => path === home) && home !== undefined ? home : '/tmp'
}

/** @throws ToolError `failed` */
async function nodeForNetwork(): Promise<string> {
  const node = await findNode()
  if (node !== undefined) return node
  const detail = 'A command with a network needs Node.js, and no folder of PATH has it. Install Node.js.'
  throw new ToolError({ kind: 'failed', detail })
}

const partialSentence =
  'The workspace has more folders than the sandbox searches. In those farthest from the root, files that other programs execute or ' +
  'obey were not protected.'

function madeSentence(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  const names = paths.slice(0, 20).map((path) => JSON.stringify(path))
  return [
    `The command has made or replaced files that other programs execute or obey: ${names.join(', ')}. Check them.`,
  ]
}

/** Returns undefined if the folder cannot be created, e.g. because the disk is full. Then caches are lost with the command. */
async function openCache(
  folder: string | undefined,
  owner: { readonly uid: number; readonly gid: number } | undefined,
): Promise<string | undefined> {
  if (folder === undefined) return undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
    return folder
  } catch {
    return undefined
  }
}
