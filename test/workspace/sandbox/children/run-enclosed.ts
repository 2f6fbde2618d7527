// Runs commands in the sandbox of a workspace, one after the other, and prints what they gave, a line for each. The argument is a
// JSON object; without an argument, each line of the input is one.
import { renameSync, symlinkSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseHostPattern } from '../../../../src/workspace/network/host-pattern.ts'
import { isPublicAddress } from '../../../../src/workspace/network/public-address.ts'
import { openFolder } from '../../../../src/workspace/open-folder.ts'
import { createOwnPlaces } from '../../../../src/workspace/policy/own-places.ts'
import { runCommand } from '../../../../src/workspace/run-command.ts'
import { createSandbox } from '../../../../src/workspace/sandbox/create-sandbox.ts'
import type { EnclosedRuns } from '../enclosed.ts'

async function runAll(text: string): Promise<void> {
  // The test has written it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the text is the test's own
  const given = JSON.parse(text) as EnclosedRuns
  const { root, home, own, folders, mode, commands, names = {}, reachable = [], proxy = {}, swap } = given
  const lookups = new Map(Object.entries(names).map(([name, answers]) => [name, [...answers]]))

  const folder = await openFolder(root, {
    sandbox(path) {
      const sandbox = createSandbox(path, {
        mode: () => mode,
        folders: () => folders,
        homeDir: () => home,
        ownPlaces: createOwnPlaces({ folders: own, files: [] }),
        cacheDir: undefined,
        network: {
          async lookup(name) {
            const answers = lookups.get(name) ?? []
            const found = (answers.length > 1 ? answers.shift() : answers[0]) ?? []
            return found.map((address) => ({ address, family: isIP(address) }))
          },
          isPublic: (address) => reachable.includes(address) || isPublicAddress(address),
          env: proxy,
        },
      })
      return { ...sandbox, start: (start) => sandbox.start(start).finally(replaceFolder) }
    },
  })
  function replaceFolder(): void {
    if (swap === undefined) return
    renameSync(join(root, swap.folder), join(root, `${swap.folder}-moved`))
    symlinkSync(swap.target, join(root, swap.folder))
  }

  for (const { script, timeoutMs = 60_000, access = 'write', cwd, widening, network: hosts } of commands) {
    const network = hosts === undefined || hosts === 'public' ? hosts : { hosts: hosts.flatMap(parseHostPattern) }
    const argv = ['sh', '-c', script]
    const signal = new AbortController().signal
    try {
      const run = {
        folder,
        argv,
        cwd,
        network,
        widening,
        signal,
        timeoutMs,
        access,
        maxOutputBytes: 100_000,
        graceMs: 2000,
      }
      process.stdout.write(`${JSON.stringify(await runCommand(run))}\n`)
    } catch (error) {
      process.stdout.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`)
    }
  }
}

const [, , argument] = process.argv
if (argument !== undefined) await runAll(argument)
else for await (const line of createInterface({ input: process.stdin })) await runAll(line)
