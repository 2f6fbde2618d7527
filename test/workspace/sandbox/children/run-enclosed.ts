// Runs commands in the sandbox of a workspace, one after the other, and prints what they gave. The argument is a JSON object.
import { openFolder } from '../../../../src/workspace/open-folder.ts'
import { createOwnPlaces } from '../../../../src/workspace/policy/own-places.ts'
import { runCommand } from '../../../../src/workspace/run-command.ts'
import { createSandbox } from '../../../../src/workspace/sandbox/create-sandbox.ts'
import type { EnclosedRuns } from '../enclosed.ts'

// The test has written it.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the argument is the test's own
const { root, home, own, folders, mode, commands } = JSON.parse(process.argv[2] ?? '') as EnclosedRuns

const folder = await openFolder(root, {
  sandbox: (path) =>
    createSandbox(path, {
      mode: () => mode,
      folders: () => folders,
      homeDir: () => home,
      ownPlaces: createOwnPlaces({ folders: own, files: [] }),
      cacheDir: undefined,
    }),
})
for (const { script, timeoutMs = 30_000, access = 'write', cwd } of commands) {
  const argv = ['sh', '-c', script]
  const signal = new AbortController().signal
  try {
    const run = { folder, argv, cwd, signal, timeoutMs, access, maxOutputBytes: 100_000, graceMs: 200 }
    process.stdout.write(`${JSON.stringify(await runCommand(run))}\n`)
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`)
  }
}
