import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { createChanges, type ChangesDeps } from '../../src/sessions/changes.ts'
import { openWorkspaces } from '../../src/sessions/open-workspaces.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import { makeFolder } from '../tools/session.ts'
import { owner } from './support.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

/** A workspace in which the run `run-1` has changed a file, and a rewind of it. */
async function openRewind(conversations: (now: () => Promise<string>) => object) {
  const root = await makeFolder({ 'a.txt': 'one\n', '.agent-policy.yaml': 'writes: { allow: ["**"] }\n' })
  const { config } = loaded({ file: JSON.stringify({ workspaces: [root], workspace: { 'read-only': false } }) })
  const dataDir = await makeFolder()
  await confirmPolicies(dataDir, root)
  const workspaces = await openWorkspaces({
    config: () => config,
    dataDir,
    redact: (text) => text,
    ownPaths: { folders: [], files: [] },
    homeDir: () => '/nowhere',
    log: recordingLog(),
  })
  onTestFinished(workspaces.close)
  const [session] = workspaces.sessions()
  if (session === undefined) throw new Error('no session')
  const unifiedDiff = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'
  const { signal } = new AbortController()
  const call = { session, name: 'mcp.edit.applyPatch', args: { unifiedDiff }, signal, caller: 'test', runId: 'run-1' }
  await workspaces.tools.call(call)
  const now = () => readFile(join(root, 'a.txt'), 'utf8')
  const changes = createChanges({
    workspaces,
    redact: (text) => text,
    // Of the sessions, it has what a rewind uses.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a stand-in with the members that are called
    sessions: {
      run: async () => ({ text: 'Hello', mode: 'agent', changes: [] }),
      conversations: conversations(now),
    } as unknown as ChangesDeps['sessions'],
  })
  const where = { session: session.id, conversation: 'c', message: 'run-1' }
  return { text: now, rewind: () => changes.rewind(where, { files: true, dryRun: false, signal }, owner) }
}

test('if the conversation cannot be cut, the files stay as they are', async () => {
  let textAtCut = ''
  const { text, rewind } = await openRewind((now) => ({
    runsFrom: () => [{ id: 'run-1' }],
    async cut() {
      textAtCut = await now()
      throw new Fault({ kind: 'session_refused', problem: 'sessions_unavailable' })
    },
  }))
  await expect(rewind()).rejects.toMatchObject({ error: { problem: 'sessions_unavailable' } })
  expect(textAtCut).toBe('one\n')
  expect(await text()).toBe('two\n')
})

test('a message that came while files were taken back is not deleted', async () => {
  const runs = [{ id: 'run-1' }]
  let isCut = false
  const { text, rewind } = await openRewind(() => ({
    runsFrom: () => [...runs].slice(0, runs.push({ id: 'run-2' }) - 1),
    async cut() {
      isCut = true
    },
  }))
  await expect(rewind()).rejects.toMatchObject({ error: { problem: 'run_in_progress' } })
  expect([isCut, await text()]).toEqual([false, 'two\n'])
})
