import { expect, test } from 'vitest'
import { findProgram, spawnLine } from '../../../src/commands/clients/program-file.ts'
import { runClient } from '../../../src/commands/launch/launch.ts'
import type { EndingSignal } from '../../../src/commands/shared/command.ts'
import { createUser } from '../harness.ts'

test('in a terminal, which signals Ctrl-C to the client itself, the client gets the signal once', async () => {
  const user = await createUser()
  const taken = Promise.withResolvers<(name: EndingSignal) => void>()
  let isGivenBack = false
  const context = user.context({
    interactive: true,
    takeSignals: (take) => {
      taken.resolve(take)
      return () => {
        isGivenBack = true
      }
    },
  })
  const ended = runClient(context, { file: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], env: {} })
  const take = await taken.promise
  take('SIGINT')
  take('SIGHUP')
  take('SIGTERM')
  // 130 and 129 would be those of the others.
  expect(await ended).toBe(143)
  expect(isGivenBack).toBe(true)
})

test('a client that cannot be started is a failure', async () => {
  const user = await createUser()
  const run = runClient(user.context(), { file: `${user.home}/nothing`, args: [], env: {} })
  await expect(run).rejects.toThrow(/Could not start .*ENOENT/)
})

function findNode(PATH: string): Promise<string | undefined> {
  return findProgram('node', { env: { PATH }, platform: 'linux' })
}

test('only programs in absolute folders of PATH are found', async () => {
  const folder = process.execPath.replace(/\/[^/]+$/, '')
  expect(await findNode(`/nonexistent:${folder}`)).toBe(process.execPath)
  expect(await findNode('/nonexistent:.::')).toBeUndefined()
})

test('on Windows, scripts go through the command interpreter, quoted for it', () => {
  const windows = { env: { ComSpec: String.raw`C:\cmd.exe` }, platform: 'win32' } as const
  expect(spawnLine('C:\\claude.exe', ['a b'], windows)).toEqual({
    file: 'C:\\claude.exe',
    args: ['a b'],
    windowsVerbatimArguments: false,
  })
  const { file, args, windowsVerbatimArguments } = spawnLine('C:\\x y\\claude.cmd', ['a&b', 'say "hi"\\'], windows)
  expect({ file, windowsVerbatimArguments }).toEqual({ file: String.raw`C:\cmd.exe`, windowsVerbatimArguments: true })
  expect(args).toEqual([
    '/d',
    '/s',
    '/c',
    String.raw`"C:\x^ y\claude.cmd ^^^"a^^^&b^^^" ^^^"say^^^ \^^^"hi\^^^"\\^^^""`,
  ])
})
