import { expect, test } from 'vitest'
import { judgeSandbox } from '../../../src/commands/doctor/machine-checks.ts'
import { listFiles } from '../../../src/workspace/list-files.ts'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { createOwnPlaces } from '../../../src/workspace/policy/own-places.ts'
import { runCommand } from '../../../src/workspace/run-command.ts'
import { bubblewrapArguments } from '../../../src/workspace/sandbox/bubblewrap-arguments.ts'
import { createSandbox, describeSandbox, sandboxState } from '../../../src/workspace/sandbox/create-sandbox.ts'
import type { Enclosure, SandboxMode } from '../../../src/workspace/sandbox/sandbox.ts'
import { createTree, failureOf } from '../tree.ts'

const missing: Enclosure = { kind: 'none', reason: 'bubblewrap (bwrap) is not installed.', fix: 'Install it' }

const of = (mode: SandboxMode, enclosure: Enclosure) => sandboxState(mode, async () => enclosure)

async function openWithout(mode: SandboxMode) {
  const { root } = await createTree()
  let probes = 0
  const folder = await openFolder(root, {
    sandbox: (path) =>
      createSandbox(path, {
        mode: () => mode,
        folders: () => [],
        homeDir: () => '/nowhere',
        ownPlaces: createOwnPlaces({ folders: [], files: [] }),
        cacheDir: undefined,
        async probe() {
          probes += 1
          return missing
        },
      }),
  })
  const { signal } = new AbortController()
  const run = () => runCommand({ folder, argv: ['echo', 'x'], signal, timeoutMs: 20_000, maxOutputBytes: 1000 })
  return { folder, run, signal, probes: () => probes }
}

test('without bubblewrap, `auto` runs a command and names what holds', async () => {
  const { run } = await openWithout('auto')
  expect(await run()).toMatchObject({ stdout: 'x\n', sandbox: 'none' })
})

test('without bubblewrap, `required` refuses commands, says what to do, and still lists files', async () => {
  const { run, folder, signal } = await openWithout('required')
  expect(await failureOf(run())).toEqual({
    kind: 'denied',
    detail:
      'The program was not started: workspace.sandbox is "required", and it cannot be enclosed. ' +
      'bubblewrap (bwrap) is not installed. Install it.',
  })
  expect(await listFiles(folder, {}, signal)).toMatchObject({ files: [] })
})

test('nothing is tried before the first command, and never with `off`', async () => {
  const { run, probes } = await openWithout('off')
  expect(probes()).toBe(0)
  await run()
  expect(probes()).toBe(0)
})

test('doctor and policy say what holds', async () => {
  const works: Enclosure = { kind: 'bubblewrap', program: '/usr/bin/bwrap', version: '0.8.0' }
  expect(judgeSandbox(await of('auto', works))).toEqual([{ status: 'ok', detail: 'bubblewrap 0.8.0 works' }])
  expect(judgeSandbox(await of('auto', missing))).toEqual([
    {
      status: 'warning',
      detail: 'bubblewrap (bwrap) is not installed, so commands of workspaces run as you',
      fix: 'Install it',
    },
  ])
  expect(judgeSandbox(await of('required', missing))).toMatchObject([{ status: 'failed' }])
  expect(judgeSandbox(await of('off', works))).toMatchObject([{ status: 'ok', detail: expect.stringContaining('Off') }])
  expect(describeSandbox(await of('auto', works))).toBe(
    'Commands run in bubblewrap 0.8.0: they write only the workspace and reach only the hosts that the policy lists.',
  )
  expect(describeSandbox(await of('required', missing))).toBe(
    'Commands are refused: bubblewrap (bwrap) is not installed.',
  )
})

test('outer folders are mounted before inner ones, the stricter of two mounts holds, and a hidden folder stays empty', () => {
  const args = bubblewrapArguments({
    argv: ['/bin/true'],
    cwd: '/home/me/code',
    mounts: [
      { kind: 'read', path: '/home/me/code/.git/hooks' },
      { kind: 'write', path: '/home/me/code/.git' },
      { kind: 'write', path: '/home/me/code' },
      { kind: 'private', path: '/home/me' },
      { kind: 'write', path: '/home/me/code/.git/hooks' },
      { kind: 'hidden folder', path: '/home/me/code/own' },
      { kind: 'read', path: '/home/me/code/own/file' },
    ],
  })
  const after = args.slice(args.indexOf('/var/tmp') + 1, args.indexOf('--chdir'))
  expect(after.join(' ')).toBe(
    '--perms 1777 --tmpfs /home/me --bind /home/me/code /home/me/code --bind /home/me/code/.git /home/me/code/.git ' +
      '--perms 0555 --tmpfs /home/me/code/own --remount-ro /home/me/code/own ' +
      '--ro-bind /home/me/code/.git/hooks /home/me/code/.git/hooks --remount-ro /',
  )
  expect(args.join(' ')).toContain(
    '--unshare-net --unshare-uts --unshare-cgroup-try --die-with-parent --new-session --cap-drop ALL',
  )
})
