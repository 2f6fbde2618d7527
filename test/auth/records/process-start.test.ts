import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findProcessStart } from '../../../src/auth/records/process-start.ts'
import process from 'node:process'

const here = { platform: process.platform, env: process.env }

const failing = (): Promise<string> => Promise.reject(new Error('exit code 1'))

test('a process keeps its start, another one has another, and one that has ended has none', async () => {
  const own = await findProcessStart(process.pid, here)
  expect(own).toEqual(expect.any(String))
  expect(await findProcessStart(process.pid, here)).toBe(own)

  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const pid = child.pid ?? 0
  const other = await findProcessStart(pid, here)
  expect(other).toEqual(expect.any(String))
  expect(other).not.toBe(own)
  child.stdin.end()
  await once(child, 'close')
  expect(await findProcessStart(pid, here)).toBeUndefined()
})

describe('Linux', () => {
  test.each([
    ['7 (node) S', 'boot-1 4242'],
    ['7 (a) b) (c) R', 'boot-1 4242'],
    // It has ended, and its parent has not asked how.
    ['7 (node) Z', undefined],
  ])('%s', async (begin, start) => {
    const procDir = await mkdtemp(join(tmpdir(), 'copilot-proxy-proc-'))
    onTestFinished(() => rm(procDir, { recursive: true }))
    await mkdir(join(procDir, '7'))
    await mkdir(join(procDir, 'sys/kernel/random'), { recursive: true })
    await writeFile(join(procDir, 'sys/kernel/random/boot_id'), 'boot-1\n')
    const between = Array.from({ length: 18 }, (_, at) => at).join(' ')
    await writeFile(join(procDir, '7/stat'), `${begin} ${between} 4242 1 2 3\n`)
    expect(await findProcessStart(7, { platform: 'linux', env: {}, procDir })).toBe(start)
    expect(await findProcessStart(8, { platform: 'linux', env: {}, procDir })).toBeUndefined()
  })
})

describe('elsewhere', () => {
  test.each([
    ['darwin', 'S+   Sun Nov 22 00:30:00 2026    \n', 'Sun Nov 22 00:30:00 2026'],
    ['darwin', 'Z    Sun Nov 22 00:30:00 2026\n', undefined],
    ['win32', 'R 134082378000000000\r\n', '134082378000000000'],
  ] as const)('%s: %j', async (platform, printed, start) => {
    const asked: string[] = []
    const run = (file: string, args: readonly string[]): Promise<string> => {
      asked.push([file, ...args].join(' '))
      return Promise.resolve(printed)
    }
    expect(await findProcessStart(7, { platform, env: {}, run })).toBe(start)
    expect(asked).toEqual([expect.stringMatching(platform === 'win32' ? /Get-Process -Id 7 / : /^ps .* -p 7$/)])
  })

  test('a command that fails means that there is no such process', async () => {
    expect(await findProcessStart(7, { platform: 'darwin', env: {}, run: failing })).toBeUndefined()
  })
})
