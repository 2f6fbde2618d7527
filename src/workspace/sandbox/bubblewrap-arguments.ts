import { posix } from 'node:path'

/** A path of the sandbox. Paths are absolute and have no links. */
export type Mount =
  /** The file or folder `from`, or the one of the same path outside. It must exist. */
  | { readonly kind: 'read' | 'write'; readonly path: string; readonly from?: string }
  /**
   * A folder that cannot be renamed, because it is a mount point. It is as writable as what is around it: a writable mount would open
   * a read-only folder again.
   */
  | { readonly kind: 'pin'; readonly path: string }
  /** An empty folder in memory that commands can fill. */
  | { readonly kind: 'private'; readonly path: string }
  /** Hides a folder or a file behind an empty one, which cannot be filled. */
  | { readonly kind: 'hidden folder' | 'hidden file'; readonly path: string }

type MadeMount = Exclude<Mount, { readonly kind: 'pin' }>

export interface SandboxedProgram {
  /** The program is an absolute path. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly mounts: readonly Mount[]
  /** The user that the program becomes, if bubblewrap starts as root and the workspace belongs to somebody else. */
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined
}

/** The system's own folders. /home, /root, /run, /srv, /var and /mnt are not among them, so they do not exist in the sandbox. */
export const systemFolders: readonly string[] = [
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/usr',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
  '/home/linuxbrew/.linuxbrew',
  '/run/current-system',
  '/var/lib/ca-certificates',
  '/sys/devices/system/cpu',
]

/** Root reads these without any capability, because it owns them. Those that exist are hidden from it. */
export const rootsSecrets: readonly Mount[] = [
  ...['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-'].map(
    (path) => ({ kind: 'hidden file', path }) as const,
  ),
  ...[
    '/etc/ssh',
    '/etc/ssl/private',
    '/etc/wireguard',
    '/etc/NetworkManager',
    '/etc/letsencrypt',
    '/etc/kubernetes',
  ].map((path) => ({ kind: 'hidden folder', path }) as const),
]

/**
 * Root changes the kernel's settings without any capability, for all programs of the machine: core_pattern names a program.
 * bubblewrap covers these only if the folder itself is writable, which /proc/sys never is.
 */
const kernelFiles = [
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/proc/irq',
  '/proc/bus',
  '/proc/fs',
  '/proc/acpi',
  '/proc/scsi',
]

/** The descriptor on which bubblewrap reports the process id and the exit code. */
export const statusFd = 3

/** bubblewrap starts the program when it can read from this descriptor, or when it is closed. */
export const releaseFd = 4

/** Its mount says that all others are made. */
export const readyPath = '/dev/.enclosed'

/** Where commands find their caches. */
export const cachePath = '/var/cache/commands'

/** Where commands with a network find the socket of the filtering proxy. */
export const proxyPath = '/var/cache/network-proxy'

/** If two mounts have the same path, the stricter one holds. */
const strictness: Readonly<Record<Mount['kind'], number>> = {
  pin: -1,
  private: 0,
  write: 1,
  read: 2,
  'hidden file': 3,
  'hidden folder': 3,
}

/**
 * Returns the arguments of bubblewrap (bwrap(1)). The command has no capabilities, no network but a loopback of its own, no
 * process and no socket of the system, and ends with the process that has started it.
 */
export function bubblewrapArguments({ argv, cwd, mounts, runAs }: SandboxedProgram): readonly string[] {
  const inOrder = effectiveMounts(mounts)
  const wholeSystem = inOrder.find(({ path }) => path === '/')
  const become =
    runAs === undefined
      ? []
      : [
          'setpriv',
          '--reuid',
          String(runAs.uid),
          '--regid',
          String(runAs.gid),
          '--clear-groups',
          '--inh-caps=-all',
          '--',
        ]
  const parts: readonly (readonly string[])[] = [
    ['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    ['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    // setpriv gives them up again before the command starts.
    runAs === undefined ? [] : ['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'],
    ['--json-status-fd', String(statusFd), '--block-fd', String(releaseFd)],
    wholeSystem === undefined ? [] : argumentsOf(wholeSystem),
    // Without links among the folders of the system, these exist on each distribution.
    systemFolders.flatMap((path) => ['--ro-bind-try', path, path]),
    ['--proc', '/proc', '--dev', '/dev', '--ro-bind', '/dev/null', readyPath],
    kernelFiles.flatMap((path) => ['--ro-bind-try', path, path]),
    inOrder
      .filter(({ path }) => path !== '/')
      .flatMap((mount) => (runAs === undefined ? [] : openParents(mount.path)).concat(argumentsOf(mount))),
    // Otherwise a command could believe that it has written a file outside of the workspace.
    wholeSystem === undefined ? ['--remount-ro', '/'] : [],
    ['--chdir', cwd, '--', ...become, ...argv],
  ]
  return parts.flat()
}

/** Returns the mounts that bubblewrap makes, in the order in which it makes them. Leaves out what a hidden folder covers. */
export function effectiveMounts(mounts: readonly Mount[]): readonly MadeMount[] {
  const byPath = new Map<string, Mount>()
  for (const mount of [...basicMounts, ...mounts]) {
    const other = byPath.get(mount.path)
    if (other === undefined || strictness[mount.kind] >= strictness[other.kind]) byPath.set(mount.path, mount)
  }
  const hidden = [...byPath.values()].filter(({ kind }) => kind === 'hidden folder').map(({ path }) => `${path}/`)
  const visible = [...byPath.values()].filter(({ path }) => !hidden.some((folder) => path.startsWith(folder)))
  const around = (path: string): Mount | undefined => {
    const found = byPath.get(path)
    if (found !== undefined && found.kind !== 'pin') return found
    return path === '/' ? undefined : around(posix.dirname(path))
  }
  return (
    visible
      .flatMap((mount): readonly MadeMount[] => {
        if (mount.kind !== 'pin') return [mount]
        return around(mount.path)?.kind === 'write' ? [{ kind: 'write', path: mount.path }] : []
      })
      // A mount would hide the ones below it that were made before.
      .toSorted((a, b) => depthOf(a.path) - depthOf(b.path))
  )
}

const basicMounts: readonly Mount[] = ['/tmp', '/var/tmp'].map((path) => ({ kind: 'private', path }))

/** bubblewrap creates missing folders for its own user alone. */
function openParents(path: string): readonly string[] {
  const parent = posix.dirname(path)
  return parent === '/' ? [] : [...openParents(parent), '--perms', '0755', '--dir', parent]
}

function argumentsOf(mount: MadeMount): readonly string[] {
  switch (mount.kind) {
    case 'read':
      return ['--ro-bind', mount.from ?? mount.path, mount.path]
    case 'write':
      return ['--bind', mount.from ?? mount.path, mount.path]
    case 'private':
      return ['--perms', '1777', '--tmpfs', mount.path]
    case 'hidden folder':
      return ['--perms', '0555', '--tmpfs', mount.path, '--remount-ro', mount.path]
    case 'hidden file':
      return ['--ro-bind', '/dev/null', mount.path]
  }
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length
}
