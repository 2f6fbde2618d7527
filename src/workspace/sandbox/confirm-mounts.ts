import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readyPath, type Mount } from './bubblewrap-arguments.ts'
import { isAt } from './find-mounts.ts'

/** A line of a mount table (proc_pid_mountinfo(5)). */
interface MountedAt {
  readonly point: string
  /** The mounted folder or file, in its file system. */
  readonly origin: string
  readonly device: string
}

/** Returns the mounts of a process, the latest last. @throws if the process has ended */
function readMountTable(processId: number | 'self'): readonly MountedAt[] {
  const lines = readFileSync(`/proc/${processId}/mountinfo`, 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, , device = '', origin = '', point = ''] = line.split(' ').map(unescaped)
    return point === '' ? [] : [{ device, origin, point }]
  })
}

function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)))
}

/**
 * Returns whether each mount is at its path and shows the file or folder of that path. bubblewrap follows links, and another
 * program that runs in the workspace can put a link in the place of a folder while bubblewrap starts: the mount would then show
 * a folder outside.
 */
function areInPlace(mounts: readonly Mount[], inside: readonly MountedAt[], outside: readonly MountedAt[]): boolean {
  const last = new Map(inside.map((mounted) => [mounted.point, mounted]))
  return mounts.every((mount) => {
    // The others show nothing of the system.
    if (mount.kind !== 'read' && mount.kind !== 'write') return true
    const found = last.get(mount.path)
    const wanted = originOf(mount.from ?? mount.path, outside)
    return found?.device === wanted.device && found.origin === wanted.origin
  })
}

/** @param path without links */
function originOf(path: string, outside: readonly MountedAt[]): Pick<MountedAt, 'device' | 'origin'> {
  let holder: MountedAt | undefined
  for (const mounted of outside) {
    if (isAt(mounted.point, path) && mounted.point.length >= (holder?.point.length ?? 0)) holder = mounted
  }
  const { device, origin, point } = holder ?? { device: '', origin: '/', point: '/' }
  return { device, origin: join(origin, relative(point, path)) }
}

/** bubblewrap needs some milliseconds, but the machine may be very busy. Ms. */
const maxWaitMs = 20_000

/**
 * After this time without a new mount, a sleeping bubblewrap has made all of its mounts and waits for permission to go on. If
 * the mount at `readyPath` is missing then, another mount hides the root of the sandbox. Ms.
 */
const settledMs = 2000

/**
 * Waits until bubblewrap has made its mounts. Resolves with whether they are in place, or with undefined if it has ended before.
 * @param started returns the process id of the program, when it is known
 */
export async function untilMounted(
  started: () => number | 'ended' | undefined,
  mounts: readonly Mount[],
): Promise<boolean | undefined> {
  const startedMs = performance.now()
  const before = pointsOf(readMountTable('self'))
  let last = { points: before, sinceMs: startedMs }
  while (performance.now() - startedMs < maxWaitMs) {
    const processId = started()
    if (processId === 'ended') return undefined
    const inside = processId === undefined ? [] : tableOf(processId)
    if (inside.some(({ point }) => point === readyPath)) return areInPlace(mounts, inside, readMountTable('self'))
    const points = pointsOf(inside)
    const nowMs = performance.now()
    if (points !== last.points) last = { points, sinceMs: nowMs }
    else if (processId !== undefined && nowMs - last.sinceMs > settledMs && points !== before && isAsleep(processId)) {
      return false
    }
    await sleep(1)
  }
  return false
}

function pointsOf(table: readonly MountedAt[]): string {
  return table.map(({ point }) => point).join('\n')
}

/** Whether a process waits for something other than the processor or a disk (proc_pid_stat(5)). */
function isAsleep(processId: number): boolean {
  try {
    return readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ').at(-1)?.startsWith('S') === true
  } catch {
    // It has just ended.
    return false
  }
}

function tableOf(processId: number): readonly MountedAt[] {
  try {
    return readMountTable(processId)
  } catch {
    // It has just ended.
    return []
  }
}
