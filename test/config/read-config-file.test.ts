import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatConfigError } from '../../src/config/problem.ts'
import { readConfigFile } from '../../src/config/read-config-file.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'copilot-proxy-'))
  path = join(folder, 'config.yaml')
})

afterEach(() => {
  rmSync(folder, { recursive: true })
})

/** Reads a file and expects a failure. Returns its message without the path. */
async function refusal(from: string, required = false): Promise<string> {
  const result = await readConfigFile(from, { required })
  expect(result.ok).toBe(false)
  return result.ok ? '' : formatConfigError(result.error).replace(`${from}  `, '')
}

describe('a file', () => {
  test('is read as text, without a byte order mark', async () => {
    writeFileSync(path, '\u{feff}chat: {}\n')
    expect(await readConfigFile(path, { required: true })).toEqual({ ok: true, file: { path, text: 'chat: {}\n' } })
  })

  test('of exactly 64 KiB is read, one byte more is refused', async () => {
    const limit = 64 * 1024
    writeFileSync(path, '#'.repeat(limit))
    expect((await readConfigFile(path, { required: true })).ok).toBe(true)
    writeFileSync(path, '#'.repeat(limit + 1))
    expect(await refusal(path)).toBe('is larger than 64 KiB')
  })

  test.skipIf(process.platform === 'win32')('that is a device, pipe or socket is refused, at once', async () => {
    expect(await refusal('/dev/zero')).toBe('cannot be read: this is not a file')
    execFileSync('mkfifo', [path])
    expect(await refusal(path)).toBe('cannot be read: this is a pipe, not a file')
    symlinkSync(path, join(folder, 'link'))
    expect(await refusal(join(folder, 'link'))).toBe('cannot be read: this is a pipe, not a file')
    const server = createServer().listen(join(folder, 'socket'))
    await once(server, 'listening')
    expect(await refusal(join(folder, 'socket'))).toBe('cannot be read: this is not a file')
    server.close()
  })

  test('is read through a symbolic link', async () => {
    writeFileSync(path, 'chat: {}\n')
    symlinkSync(path, join(folder, 'link'))
    expect(await readConfigFile(join(folder, 'link'), { required: true })).toMatchObject({
      file: { text: 'chat: {}\n' },
    })
  })

  test('that is not UTF-8 is refused', async () => {
    writeFileSync(path, Buffer.from([0x63, 0xff, 0xfe]))
    expect(await refusal(path)).toBe('is not UTF-8 text')
  })

  test('that is missing counts as none, unless it was asked for', async () => {
    expect(await readConfigFile(path, { required: false })).toEqual({ ok: true, file: undefined })
    expect(await refusal(path, true)).toBe('cannot be read: there is no such file')
  })

  test('that cannot be read is refused, asked for or not', async () => {
    mkdirSync(path)
    expect(await refusal(path)).toBe('cannot be read: this is a folder')
    expect(await refusal(join(folder, 'config.yaml', 'x\0'))).toContain('cannot be read')
    writeFileSync(join(folder, 'file'), '')
    expect(await refusal(join(folder, 'file', 'config.yaml'))).toBe('cannot be read: part of the path is not a folder')
    symlinkSync('loop', join(folder, 'loop'))
    expect(await refusal(join(folder, 'loop'))).toBe('cannot be read: the symbolic links form a loop')
  })

  // The superuser may read everything.
  test.skipIf(process.getuid?.() === 0)('without permission is refused', async () => {
    writeFileSync(path, '')
    chmodSync(path, 0)
    expect(await refusal(path)).toBe('cannot be read: permission denied')
  })
})
