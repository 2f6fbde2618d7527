import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClientIdHeaders } from '../../../src/auth/copilot/client-ids.ts'
import { recordingLog } from '../../recording-log.ts'

async function place(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'copilot-proxy-ids-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'data', 'client-ids.json')
}

test('the ids of the install are kept in a private file, that of the run is not', async () => {
  const file = await place()
  const first = createClientIdHeaders(file, recordingLog())
  await expect(stat(file)).rejects.toThrow('ENOENT')
  const headers = first()
  expect(first()).toBe(headers)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toContain(headers['vscode-sessionid'])
  const next = createClientIdHeaders(file, recordingLog())()
  expect(next).toMatchObject({
    'vscode-machineid': headers['vscode-machineid'],
    'editor-device-id': headers['editor-device-id'],
  })
  expect(next['vscode-sessionid']).not.toBe(headers['vscode-sessionid'])
})

test.each(['', '{', '{"machine_id":"mine","device_id":"1"}'])('a file with %j is replaced', async (text) => {
  const file = await place()
  createClientIdHeaders(file, recordingLog())()
  await writeFile(file, text)
  const headers = createClientIdHeaders(file, recordingLog())()
  expect(await readFile(file, 'utf8')).toContain(headers['vscode-machineid'])
})

test('where the file cannot be written, the run has ids of its own and says so', async () => {
  const file = join(await place(), 'below-a-file.json')
  const blocked = join(file, '..')
  createClientIdHeaders(blocked, recordingLog())()
  const log = recordingLog()
  expect(createClientIdHeaders(file, log)()).toHaveProperty('vscode-machineid')
  expect(log.lines).toMatchObject([{ level: 'warn', fields: { file } }])
})
