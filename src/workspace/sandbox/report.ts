import type { ChildProcess } from 'node:child_process'
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Network } from '../network/host-pattern.ts'
import { policyName } from '../policy/policy-file.ts'
import { ToolError } from '../tool-error.ts'
import { releaseFd, statusFd, type Mount } from './bubblewrap-arguments.ts'
import { untilMounted } from './confirm-mounts.ts'
import { isAt } from './find-mounts.ts'
import { killGroup } from './kill-group.ts'
import type { Widening } from './sandbox.ts'

/** What bubblewrap reports about the program that it has started (bwrap(1), `--json-status-fd`). */
export interface EnclosureReport {
  /** The process group of the program; undefined before it has started. */
  readonly groupId: () => number | undefined
  /** Whether bubblewrap has ended without a report of the program's exit code: the program never ran, or was killed. */
  readonly hasFailed: () => boolean
  /** Whether the program was not started, because a mount is not where it belongs. */
  readonly isDisplaced: () => boolean
}

/** bubblewrap's report is much shorter. Characters. */
const maxReport = 4096

/**
 * Reads the report, and lets the program start when all mounts are in their places. Call it at once after the start of bubblewrap,
 * with two more pipes than a program has.
 */
export function readReport(
  child: Pick<ChildProcess, 'stdio' | 'exitCode' | 'signalCode' | 'pid'>,
  mounts: readonly Mount[],
): EnclosureReport {
  let text = ''
  let isDisplaced = false
  const find = (pattern: RegExp): number | undefined => {
    const digits = pattern.exec(text)?.[1]
    return digits === undefined ? undefined : Number(digits)
  }
  const stream = child.stdio[statusFd]
  if (stream instanceof Readable) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      if (text.length < maxReport) text += part
    })
    stream.on('error', () => {})
  }
  const release = child.stdio[releaseFd]
  release?.on('error', () => {})
  const started = (): number | 'ended' | undefined =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null ? 'ended' : find(childPid)
  async function startWhenInPlace(): Promise<void> {
    const inPlace = await untilMounted(started, mounts).catch(() => false)
    isDisplaced = inPlace === false
    if (isDisplaced) killGroup(child)
    else if (inPlace === true && release instanceof Writable) release.end('go')
  }
  void startWhenInPlace()
  return {
    groupId: () => find(childPid),
    hasFailed: () => isDisplaced || (child.signalCode === null && find(/"exit-code": (\d+)/) === undefined),
    isDisplaced: () => isDisplaced,
  }
}

const childPid = /"child-pid": (\d+)/

/** The message of bubblewrap about a program or a folder. */
const complaint = /^bwrap: (.*)$/m

/** Returns the error for a program that could not be started in the sandbox. */
export function enclosureFailure(name: string, stderr: string, report: EnclosureReport): ToolError {
  if (report.isDisplaced())
    return new ToolError({ kind: 'failed', detail: `The program was not started: ${displacedReason}.` })
  const said = complaint.exec(stderr)?.[1] ?? 'bubblewrap gave no reason'
  const isProgram = said.startsWith('execvp')
  const detail = isProgram
    ? `The program ${JSON.stringify(name)} could not be started in the sandbox (${said}). It needs a file that commands there ` +
      'do not see. To show its folder to them, add it to workspace.sandbox-folders in the configuration.'
    : `The sandbox could not be set up: ${said}. To run commands without it, set workspace.sandbox to off in the configuration.`
  return new ToolError({ kind: 'failed', detail })
}

/** Why a program was not started. */
export const displacedReason =
  'while its sandbox was set up, another program moved a folder of the workspace or replaced it by a link. End the other ' +
  'program, or try again'

interface Sign {
  readonly pattern: RegExp
  readonly note: string
  /** With it, the command can do what it tried. */
  readonly widening: Widening
}

/** Messages of programs, in English because commands run with the locale C. */
const signs: readonly Sign[] = [
  {
    pattern:
      /\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b|getaddrinfo|Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable|no such host|dns error/i,
    note:
      'Commands in the sandbox have no network but a loopback of their own, and the hosts that shell.network of ' +
      `${policyName} in the workspace lists, through the proxy that HTTPS_PROXY names.`,
    widening: 'network',
  },
  {
    pattern: /EROFS|Read-only file system/i,
    note:
      'Commands in the sandbox change only the workspace and temporary files. In the workspace, the policy, hooks and settings of ' +
      'git, and files that other programs obey are read-only.',
    widening: 'unsandboxed',
  },
  {
    pattern: /EBUSY|Device or resource busy|EXDEV|Invalid cross-device link/i,
    note:
      'In the sandbox, the settings and hooks of git and files that other programs obey cannot be replaced, and the folders that ' +
      'contain them can be neither renamed nor removed.',
    widening: 'unsandboxed',
  },
  {
    pattern: /not a git repository/i,
    note: 'Commands in the sandbox do not see a repository around the workspace. If there is one, open its folder as the workspace.',
    widening: 'unsandboxed',
  },
  {
    pattern:
      /(?:ENOENT|No such file)[^\n]*\/(?:home|root|run|var|srv|mnt)\/|\/(?:home|root|run|var|srv|mnt)\/[^\n]*(?:ENOENT|No such file|not found)/,
    note:
      'Commands in the sandbox do not see the home folder, /run, /var and sockets. To show a folder to them, add it to ' +
      'workspace.sandbox-folders in the configuration.',
    widening: 'unsandboxed',
  },
]

/** Messages about a file that is missing. The sandbox is to blame only if a link of the workspace leads outside. */
const missing = /ENOENT|No such file|not found|Cannot find (?:module|package)/i

async function brokenLinks(root: string): Promise<readonly Sign[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name)
  const targets = await Promise.all(links.map((name) => realpath(join(root, name)).catch(() => root)))
  const broken = links.filter((_, at) => !isAt(root, targets[at] ?? root)).slice(0, 3)
  if (broken.length === 0) return []
  const note =
    `Commands in the sandbox do not see the folders outside that links of the workspace lead to: ${JSON.stringify(broken)}. ` +
    'To show them, add them to workspace.sandbox-folders in the configuration.'
  return [{ pattern: missing, note, widening: 'unsandboxed' }]
}

/** Returns what the sandbox may have prevented: sentences, and the least with which the command may succeed. */
export async function preventedBySandbox(
  end: { readonly exitCode: number; readonly stdout: string; readonly stderr: string },
  {
    root,
    network,
    needsPublic,
  }: { readonly root: string; readonly network: Network | undefined; readonly needsPublic: boolean },
): Promise<{ readonly notes: readonly string[]; readonly widening?: Widening }> {
  if (end.exitCode === 0) return { notes: [] }
  // A file that is missing in the workspace is no matter of the sandbox.
  const output = `${end.stderr}\n${end.stdout}`.replaceAll(`${root}/`, '')
  const seen = [...signs, ...(await brokenLinks(root))].filter(({ pattern }) => pattern.test(output))
  const notes = seen.map(({ note }) => note)
  // The proxy knows what it has refused. The words of programs are signs only.
  if (needsPublic) return { notes, widening: 'network' }
  if (seen.length === 0) return { notes }
  // A program that fails with a network does not use the proxy.
  const isNetwork = network === undefined && seen.every(({ widening }) => widening === 'network')
  return { notes, widening: isNetwork ? 'network' : 'unsandboxed' }
}
