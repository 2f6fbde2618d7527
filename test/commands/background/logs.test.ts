import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseSince } from '../../../src/commands/background/logs.ts'
import { createUser, recordOutput } from '../harness.ts'

const noon = new Date(2026, 10, 24, 12).getTime()
const minute = 60_000

describe('parseSince', () => {
  test.each([
    ['30s', noon - 30_000],
    ['10m', noon - 10 * minute],
    ['2h', noon - 120 * minute],
    ['1d', noon - 24 * 60 * minute],
    ['9:30', new Date(2026, 10, 24, 9, 30).getTime()],
    ['09:30:15', new Date(2026, 10, 24, 9, 30, 15).getTime()],
    ['2026-11-23', new Date(2026, 10, 23).getTime()],
    ['2026-11-23T10:00', new Date(2026, 10, 23, 10).getTime()],
    ['2026-11-23 10:00', new Date(2026, 10, 23, 10).getTime()],
    ['2026-11-23T10:00:00Z', Date.UTC(2026, 10, 23, 10)],
  ])('%s', (text, ms) => {
    expect(parseSince(text, noon)).toBe(ms)
  })

  test.each(['', 'yesterday', '10', '10 m', '-5m', '25:00', '2026-13-01', '2026-11-23T'])('refuses %j', (text) => {
    expect(() => parseSince(text, noon)).toThrow('--since must be a time such as 10m, 2h, 14:30')
  })
})

const line = (time: number, level: string, msg: string): string => JSON.stringify({ level, time, msg })

async function userWithLog() {
  const user = await createUser()
  await mkdir(join(user.home, 'state'))
  const lines = [
    line(noon - 30 * 60 * minute, 'error', 'yesterday'),
    line(noon - 20 * minute, 'warn', 'earlier'),
    line(noon - 5 * minute, 'info', 'request'),
    'Port 4141 is in use by nginx.',
    line(noon - minute, 'warn', 'latest'),
  ]
  await writeFile(join(user.home, 'state', 'daemon.log'), `${lines.join('\n')}\n`)
  const now = () => noon
  return {
    messages: async (commandLine: string) => {
      const { stdout } = await user.run(commandLine, { now })
      return [...stdout.matchAll(/"msg":"(\S+)/g)].map(([, word = '']) => word.replace(/".*/, ''))
    },
    onTerminal: async (commandLine: string) => {
      const written: string[] = []
      const stdout = { ...recordOutput(), isTerminal: true, write: (text: string) => void written.push(text) }
      await user.run(commandLine, { stdout, now })
      return written.join('').split('\n')
    },
    run: user.run,
  }
}

test.each([
  ['logs', ['yesterday', 'earlier', 'request', 'Port', 'latest']],
  ['logs --since 10m', ['request', 'Port', 'latest']],
  ['logs --since 2026-11-24', ['earlier', 'request', 'Port', 'latest']],
  ['logs --since 3m', ['latest']],
  ['logs --level warn', ['yesterday', 'earlier', 'Port', 'latest']],
  ['logs --level warn --since 1h', ['earlier', 'Port', 'latest']],
  ['logs --level error -n 1', ['Port']],
  ['logs --level warn -n 0', []],
  ['logs --since 1h --lines 2', ['Port', 'latest']],
])('%s', async (commandLine, expected) => {
  expect(await (await userWithLog()).messages(commandLine)).toEqual(expected)
})

test('a terminal shows the date where the day changes', async () => {
  const { onTerminal } = await userWithLog()
  const all = await onTerminal('logs')
  expect(all.filter((text) => /^\d{4}-/.test(text))).toEqual(['2026-11-23', '2026-11-24'])
  expect(all.indexOf('2026-11-24')).toBe(2)
  expect((await onTerminal('logs --since 1h')).some((text) => /^\d{4}-/.test(text))).toBe(false)
})

test('a level that does not exist and a time that is none are wrong usage', async () => {
  const { run } = await userWithLog()
  expect(await run('logs --level loud')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--level must be one of: trace'),
  })
  expect(await run('logs --since then')).toMatchObject({ code: 2, stderr: expect.stringContaining('--since must be') })
})

test('log lines in JSON have escapes for characters that steer a terminal', async () => {
  const user = await createUser()
  await mkdir(join(user.home, 'state'))
  const texts = ['a\u009B2J\u202E', 'Port 4141\u009B is in use by \u0085nginx.']
  await writeFile(join(user.home, 'state', 'daemon.log'), `${line(noon, 'info', texts[0] ?? '')}\n${texts[1]}\n`)
  const { stdout } = await user.run('logs --json')
  expect(stdout).not.toMatch(/[\u007F-\u009F\u202E]/)
  const shown = stdout.trimEnd().split('\n')
  expect(shown.map((each) => (JSON.parse(each) as { msg: string }).msg)).toEqual(texts)
})
