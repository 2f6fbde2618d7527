import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OwnPaths } from '../config/paths.ts'
import { parseDemoCodexModels } from '../demo/codex-models.ts'
import { connectDemoCodex, connectDemoCopilot, fetchDemoAccount } from '../demo/services.ts'
import type { ProviderServices } from './providers.ts'

interface DemoPlaces {
  readonly workspacesDir?: string | undefined
  readonly ownPaths: OwnPaths
}

const services: ProviderServices = {
  copilot: { connect: connectDemoCopilot, fetchAccount: fetchDemoAccount },
  codex: { connect: connectDemoCodex, parseModels: parseDemoCodexModels },
}

/**
 * The parts of a daemon that differ with `--demo`. It reads and writes no login, usage, session or other data of the user but what
 * a person allows in a workspace, and the journal of its files, which are real. Sessions are in a temporary folder. As with every
 * daemon, the owner's token and that of the gateway are in the data folder while it runs, because commands and tool providers look
 * for them there.
 */
export async function openDemo({ workspacesDir, ownPaths }: DemoPlaces) {
  const dir = workspacesDir === undefined ? undefined : await mkdtemp(join(tmpdir(), 'copilot-proxy-demo-'))
  return {
    services,
    options: {
      usageFile: undefined,
      codexFiles: undefined,
      githubToken: undefined,
      ...(dir !== undefined && { ownPaths: { ...ownPaths, folders: [...ownPaths.folders, dir] } }),
    },
    sessionsDir: dir,
    async removeData(): Promise<void> {
      if (dir !== undefined) await rm(dir, { recursive: true, force: true })
    },
  }
}
