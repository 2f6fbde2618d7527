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

test('if the conversation cannot be cut, the files stay as they are', async () => {
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
  let textAtCut = ''
  const changes = createChanges({
    workspaces,
    redact: (text) => text,
    // Of the sessions, it has what a rewind uses.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a stand-in with the members that are called
    sessions: {
      run: async () => ({ text: 'Hello', mode: 'agent', changes: [] }),
      conversations: {
        runsFrom: () => [{ id: 'run-1' }],
        async cut() {
          textAtCut = await readFile(join(root, 'a.txt'), 'utf8')
          throw new Fault({ kind: 'session_refused', problem: 'sessions_unavailable' })
        },
      },
    } as unknown as ChangesDeps['sessions'],
  })
  const where = { session: session.id, conversation: 'c', message: 'run-1' }
  const going = changes.rewind(where, { files: true, dryRun: false, signal }, owner)
  await expect(going).rejects.toMatchObject({ error: { problem: 'sessions_unavailable' } })
  expect(textAtCut).toBe('one\n')
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('two\n')
})
